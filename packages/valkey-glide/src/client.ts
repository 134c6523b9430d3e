/* The part of the Valkey GLIDE API that the adapter uses: small, so that several versions fit. */

/** A `GlideClient` or a `GlideClusterClient`. */
export interface ValkeyGlideClient {
  /** Sends a batch. */
  exec(batch: object, raiseOnError: boolean, options?: ValkeyGlideExecOptions): Promise<unknown[] | null>;
  /** Subscribes to sharded channels: only on a `GlideClusterClient`. */
  ssubscribe?(channels: Iterable<string>, timeoutMs: number): Promise<unknown>;
}

/** How a batch is sent. */
export interface ValkeyGlideExecOptions {
  /** How long the client keeps the batch, in milliseconds from now. */
  timeout?: number;
  /** The decoder for strings in replies. */
  decoder?: number;
}

/** A client for subscriptions. */
export interface ValkeyGlideSubscriber {
  /** Subscribes to channels. Resolves when the server has confirmed it. */
  subscribe(channels: Iterable<string>, timeoutMs: number): Promise<unknown>;
  /** Ends subscriptions. */
  unsubscribe(channels: Iterable<string>, timeoutMs: number): Promise<unknown>;
  /** Resolves with the next message, or rejects when the client is closed. */
  getPubSubMessage(): Promise<ValkeyGlideMessage>;
  /** Closes the client. */
  close(): void;
}

/** A message on a channel. */
export interface ValkeyGlideMessage {
  /** The channel. */
  readonly channel: string | Uint8Array;
  /** The text of the message. */
  readonly message: string | Uint8Array;
}

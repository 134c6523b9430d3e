/** What the adapter needs of the clients of Valkey GLIDE: no more, so that its versions will do. */

/** A `GlideClient` or a `GlideClusterClient`. */
export interface ValkeyGlideClient {
  /** Sends a batch. */
  exec(batch: object, raiseOnError: boolean, options?: ValkeyGlideExecOptions): Promise<unknown[] | null>;
  /** Only of a `GlideClusterClient`. */
  ssubscribe?(channels: Iterable<string>, timeoutMs: number): Promise<unknown>;
}

/** How a batch is sent. */
export interface ValkeyGlideExecOptions {
  /** When the client drops it, in milliseconds from now. */
  timeout?: number;
  /** Whether replies are read as strings. */
  decoder?: number;
}

/** A client that only listens. */
export interface ValkeyGlideSubscriber {
  /** Begins subscriptions, and resolves when the server has confirmed them. */
  subscribe(channels: Iterable<string>, timeoutMs: number): Promise<unknown>;
  /** Ends subscriptions. */
  unsubscribe(channels: Iterable<string>, timeoutMs: number): Promise<unknown>;
  /** Resolves with the next message; rejects when the client is closed. */
  getPubSubMessage(): Promise<ValkeyGlideMessage>;
  /** Closes the client. */
  close(): void;
}

/** A message on a channel. */
export interface ValkeyGlideMessage {
  /** Where it was sent to. */
  readonly channel: string | Uint8Array;
  /** What was sent. */
  readonly message: string | Uint8Array;
}

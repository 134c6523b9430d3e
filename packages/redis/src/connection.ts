/**
 * The interface between a Redis client library and the lock node: everything that differs between libraries. Implement
 * it to use a client for which Holdfast has no adapter.
 */
export interface RedisConnection {
  /** The default name of the node: host and port, for example, and never a password. */
  readonly name: string;
  /** Whether it is a Redis Cluster, where all keys of one command must share a slot. */
  readonly isCluster: boolean;

  /**
   * Whether `runScript` itself settles within the `timeoutMs` that it is given. Each operation is then sent in a call
   * of its own, and claims are sent with a `timeoutMs`. By default the node rejects a claim that was given up and whose
   * connection was lost.
   */
  readonly settlesInTime?: boolean;

  /**
   * Whether the client writes the commands of a turn of the event loop in one piece. A server executes all calls that it
   * reads at once before it replies to the first, so client and server would wait for each other: the only node of a
   * `Redlock` then makes one call of many operations in this turn, and the others in the next one. Default: false.
   */
  readonly writesOnceATurn?: boolean;

  /** Whether a command with this key can be written to its server now, without waiting for a connection. */
  isReady(key: string): boolean;

  /** Why `isReady` is false, if known: an error of the client, or a sentence that says what to do. */
  whyNotReady?(key: string): unknown;

  /**
   * Returns a promise that resolves when a client that connects for the first time is connected, or has failed to be;
   * undefined for any other client. Claims wait for it, until core gives them up. By default they reject at once.
   */
  firstConnection?(): Promise<void> | undefined;

  /**
   * Sends one command: `EVALSHA` and the script's hash, or `EVAL` and its source; then the number of keys, the keys and
   * the arguments, all of which `call` provides. Resolves with the reply, or rejects with the error of the server or
   * the client; the message of a server's error must begin with its code (`NOSCRIPT`).
   *
   * Send all commands over one connection to the server (on a cluster: to the server of the first key), in the order of
   * the calls. If a release overtakes a claim, the claim stands until core receives its reply and releases it again.
   * {@link ScriptCall} says which parts must not be copied early. A library that copies them must set `settlesInTime`,
   * must not write a command after its `timeoutMs`, and must deliver the reply to a claim even if a release of the same
   * owner came before it. Commands without a `timeoutMs` do no harm however late they are.
   */
  runScript(command: "EVALSHA" | "EVAL", script: string, call: ScriptCall, timeoutMs?: number): Promise<unknown>;

  /**
   * Opens a second connection to the same server. It passes each message to `onMessage` and, if it stops reconnecting,
   * calls `onEnd`, with the error if there is one. The node replaces a connection that does not confirm a command in
   * time. Without this method the node offers no `watch`.
   */
  openSubscriber?(
    onMessage: (channel: string, message: string) => void,
    onEnd: (error?: unknown) => void,
  ): RedisSubscriber;
}

/** One run of the script, as a connection sends it. */
export interface ScriptCall {
  /** The first key, which selects the server of a cluster. */
  readonly firstKey: string;
  /** The number of keys. */
  readonly keyCount: number;
  /**
   * Returns the words that follow the number of keys: the keys, then the arguments. One of them is a `Buffer`, which
   * changes when an operation is given up: read it when the command is written to the socket, however late that may be.
   */
  keysAndArguments(): (string | Buffer)[];
  /**
   * Returns the whole command in the Redis protocol, to be written as UTF-8. It is meant for a library that calls this
   * when it writes to the socket, and not before: operations that are given up by then have no effect.
   */
  encode(command: "EVALSHA" | "EVAL", script: string): string;
}

/**
 * A connection for subscriptions. It reconnects automatically and then restores its subscriptions. The node sends it
 * one command at a time.
 */
export interface RedisSubscriber {
  /** Subscribes to a channel. Resolves when the server has confirmed the subscription. */
  readonly subscribe: (channel: string) => Promise<unknown>;
  /** Ends the subscription. */
  readonly unsubscribe: (channel: string) => Promise<unknown>;
  /** Closes the connection, or stops trying to open it. Afterwards it must not keep the process alive. */
  close(): void;
}

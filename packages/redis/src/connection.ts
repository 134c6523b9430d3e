/**
 * What one client library has to offer for its clients to become lock nodes: all that differs between libraries. Other Redis
 * clients than those of `@holdfast/ioredis` and `@holdfast/node-redis` can be used by implementing it.
 */
export interface RedisConnection {
  /** What the node is called unless the user names it: host and port, for example, and never a password. */
  readonly name: string;
  /** Whether it is a Redis Cluster, where all keys of one command must share a slot. */
  readonly isCluster: boolean;

  /**
   * Whether `runScript` itself settles once the `timeoutMs` that it was given have passed. Each operation is then sent alone, and
   * a claim with a `timeoutMs`. By default the node gives up a claim that waits for a lost connection.
   */
  readonly settlesInTime?: boolean;

  /** Whether a command with this key that is sent now goes to its server now, instead of waiting for a connection. */
  isReady(key: string): boolean;

  /** Why `isReady` is false, if that is known: an error of the client, or a sentence that says what to do. */
  whyNotReady?(key: string): unknown;

  /**
   * Sends one command: `EVALSHA` and the script's hash, or `EVAL` and its source; then the number of keys, and the keys and
   * arguments in their order: `call` has all of them. Resolves with the reply, or rejects with the error of the server or
   * the client; the message of a server's error must begin with its code (`NOSCRIPT`).
   *
   * All commands should go over one connection to the server (or, on a cluster, to the server of the first key), in the
   * order of the calls: where a release overtakes a claim, the claim stands until core has heard of it and releases it
   * again. {@link ScriptCall} says what must not be copied early. A library that does copy it must set `settlesInTime`, must not
   * write a command once its `timeoutMs` have passed, and must deliver the answer even if a release of the same owner came
   * before; its commands without a `timeoutMs` do no harm however late they are.
   */
  runScript(command: "EVALSHA" | "EVAL", script: string, call: ScriptCall, timeoutMs?: number): Promise<unknown>;

  /**
   * Opens a second connection to the same server, which delivers messages (the channel, and the text) and, if it gives up for
   * good, reports its end, with the error if there is one. A connection that does not confirm a command in time is closed,
   * and another one opened. Without this method the node offers no `watch`.
   */
  openSubscriber?(
    onMessage: (channel: string, message: string) => void,
    onEnd: (error?: unknown) => void,
  ): RedisSubscriber;
}

/** One run of the script, as a connection sends it. */
export interface ScriptCall {
  /** Names the server, if a cluster has several. */
  readonly firstKey: string;
  /** How many of the words are keys. */
  readonly keyCount: number;
  /**
   * The words that follow the number of keys: the keys, and then the arguments. The one `Buffer` among them must be written
   * as it is when the command is written to the socket, however late that may be: it changes when operations are given up.
   */
  keysAndArguments(): (string | Buffer)[];
  /**
   * The whole command in the Redis protocol, as text to be written in UTF-8, for a library that asks for it when it writes to
   * the socket, and not before: operations that were given up by then have no effect.
   */
  encode(command: "EVALSHA" | "EVAL", script: string): string;
}

/**
 * A connection that only listens. It comes back by itself when it was lost, with its subscriptions. It is given one command at
 * a time.
 */
export interface RedisSubscriber {
  /** Resolves when messages on the channel arrive from now on. */
  readonly subscribe: (channel: string) => Promise<unknown>;
  /** Ends the subscription. */
  readonly unsubscribe: (channel: string) => Promise<unknown>;
  /** Closes the connection, or stops trying to open it. Nothing may keep the process alive afterwards. */
  close(): void;
}

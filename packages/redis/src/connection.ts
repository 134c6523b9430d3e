import type { ScriptCall } from "./script-call.ts";

/**
 * What one client library has to offer for its clients to become lock nodes: all that differs between libraries. Other
 * Redis clients than those of `@holdfast/ioredis` and `@holdfast/node-redis` can be used by implementing it.
 */
export interface RedisConnection {
  /** What the node is called unless the user names it: host and port, for example, and never a password. */
  readonly name: string;
  /** Whether it is a Redis Cluster, where all keys of one command must share a slot. */
  readonly isCluster: boolean;

  /**
   * Whether `runScript` itself settles once the `timeoutMs` that it was told have passed. By default the node gives up
   * what waits for a connection that is lost.
   */
  readonly settlesInTime?: boolean;

  /** Whether a command with this key that is sent now goes to its server now, instead of waiting for a connection. */
  isReady(key: string): boolean;

  /**
   * Sends one command: `EVALSHA` and the script's hash, or `EVAL` and its source; then the number of keys, and the keys
   * and arguments as they come: `call` has all of them. Resolves with the reply, or rejects with the error that the server
   * or client gives; the message of a server's error must begin with its code (`NOSCRIPT`).
   *
   * All commands should go over one connection to the server (or, on a cluster, to the server of the first key), in the
   * order of the calls: where a release overtakes a claim, the claim stands until core has heard of it and releases it
   * again. See {@link ScriptCall} for what must not be copied early. A library that does so
   * must not write the command once `timeoutMs` have passed, and its answer must be told even if a release of the same
   * owner came before; without a `timeoutMs`, the command does no harm however
   * late it is.
   */
  runScript(command: "EVALSHA" | "EVAL", script: string, call: ScriptCall, timeoutMs?: number): Promise<unknown>;

  /**
   * Begins a second connection to the same server, which tells of messages (the channel, and the text) and, if it gives up
   * for good, of its end, with the error if there is one. One that does not confirm a command in time is closed, and another
   * one begun.
   * Without this method the node offers no `watch`.
   */
  openSubscriber?(
    onMessage: (channel: string, message: string) => void,
    onEnd: (error?: unknown) => void,
  ): RedisSubscriber;
}

/**
 * A connection that only listens. It comes back by itself when it was lost, with its subscriptions. It is given one
 * command at a time.
 */
export interface RedisSubscriber {
  /** Resolves when messages on the channel arrive from now on. */
  readonly subscribe: (channel: string) => Promise<unknown>;
  /** Ends the subscription. */
  readonly unsubscribe: (channel: string) => Promise<unknown>;
  /** Closes the connection, or stops trying to open it. Nothing may keep the process alive afterwards. */
  close(): void;
}

import type { RedisConnection } from "../connection.ts";

/**
 * The interface between a Redis client library and a fenced store: everything that differs between libraries. Implement
 * it to use a client for which Holdfast has no adapter. Calls wait for `firstConnection`, at most for their timeout.
 *
 * @example
 * ```ts
 * import { type FencedConnection, fencedStore } from "@holdfast/redis";
 * import { Redis } from "ioredis";
 *
 * const client = new Redis({ port: 6379 });
 * const connection: FencedConnection = {
 *   isReady: () => client.status === "ready",
 *   runScript: (command, script, key, args) => client.callBuffer(command, script, 1, key, ...args),
 * };
 * const store = fencedStore(connection);
 * ```
 */
export interface FencedConnection extends Pick<RedisConnection, "isReady" | "whyNotReady" | "firstConnection"> {
  /**
   * Sends one command: `EVALSHA` and the script's digest, or `EVAL` and its source; then `1`, the key and the arguments.
   * Resolves with the reply, in which every string must be a `Buffer`. Rejects with the error of the server or the client;
   * the message of a server's error must begin with its code (`NOSCRIPT`).
   *
   * Send all commands over one connection to the server (on a cluster: to the server of the key), in the order of the
   * calls. The first argument is a `Buffer`. Read it when the command is written to the socket, however late that may be:
   * the store changes its content once the command must no longer take effect. A library that copies the argument earlier
   * must not write the command after `timeoutMs`.
   */
  runScript(
    command: "EVALSHA" | "EVAL",
    script: string,
    key: string,
    args: readonly (string | Buffer)[],
    timeoutMs: number,
  ): Promise<unknown>;
}

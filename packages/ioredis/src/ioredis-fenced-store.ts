import { type FencedConnection, type FencedStore, type FencedStoreOptions, fencedStore } from "@holdfast/redis";
import { assertClient } from "./assert-client.ts";
import type { IoredisClient } from "./client.ts";
import { commandClassOf, readinessOf } from "./connection.ts";

/**
 * Returns a fenced store over an ioredis client: data in Redis that refuses late writes of a holder that has lost its
 * lock. You keep ownership of the client, whose server need not be one of the lock servers. While the client
 * connects for the first time, calls wait for it, at most for `timeoutMs`. After a lost connection, calls reject at once.
 *
 * @param client a `Redis` or a `Cluster`
 * @param options see {@link FencedStoreOptions}
 * @throws {TypeError | RangeError} if the client or an option cannot be used, naming it and the reason
 *
 * @example
 * ```ts
 * import { ioredisFencedStore } from "@holdfast/ioredis";
 * import { Redis } from "ioredis";
 *
 * const store = ioredisFencedStore(new Redis({ port: 7004 }));
 * await redlock.using("visits", async (lock) => {
 *   const { value } = await store.read("visits", lock.fence);
 *   await store.write("visits", String(1 + Number(value ?? 0)), lock.fence);
 * });
 * ```
 */
export function ioredisFencedStore(client: IoredisClient, options: FencedStoreOptions = {}): FencedStore {
  assertClient(client, (keyPrefix) => `: use one without it, and put ${JSON.stringify(keyPrefix)} before each key`);
  return fencedStore(connectionOf(client), options);
}

function connectionOf(client: IoredisClient): FencedConnection {
  const Command = commandClassOf(client);
  if (Command === undefined) throw new TypeError("client must create commands the way ioredis clients do");
  return {
    ...readinessOf(client),
    // Not `callBuffer`, which fails on a client with automatic pipelining.
    runScript(command, script, key, args) {
      const sent = new Command(command.toLowerCase(), [script, "1", key, ...args], { replyEncoding: null });
      client.sendCommand(sent);
      return sent.promise;
    },
  };
}

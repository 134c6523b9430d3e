import { type FencedConnection, type FencedStore, type FencedStoreOptions, fencedStore } from "@holdfast/redis";
import { assertClient, isCluster } from "./assert-client.ts";
import type { NodeRedisClient, NodeRedisCluster, NodeRedisCommandOptions } from "./client.ts";
import { isShardReady, routingKey } from "./cluster.ts";
import { readinessOf } from "./readiness.ts";

/**
 * Reads strings (type `$` of the protocol) as bytes whatever the client's settings, and leaves the deadline to the
 * store.
 */
const commandOptions: NodeRedisCommandOptions = { timeout: 0, typeMapping: { 36: Buffer } };

/**
 * Returns a fenced store over a node-redis client: data in Redis that refuses late writes of a holder that has lost its
 * lock. You keep ownership of the client, whose server need not be one of the lock servers. While the client
 * connects for the first time, calls wait for it, at most for `timeoutMs`. After a lost connection, calls reject at once.
 *
 * @param client created by `createClient` or `createCluster`
 * @param options see {@link FencedStoreOptions}
 * @throws {TypeError | RangeError} if the client or an option cannot be used, naming it and the reason
 *
 * @example
 * ```ts
 * import { nodeRedisFencedStore } from "@holdfast/node-redis";
 * import { createClient } from "@redis/client";
 *
 * const store = nodeRedisFencedStore(await createClient({ socket: { port: 7004 } }).connect());
 * await redlock.using("visits", async (lock) => {
 *   const { value } = await store.read("visits", lock.fence);
 *   await store.write("visits", String(1 + Number(value ?? 0)), lock.fence);
 * });
 * ```
 */
export function nodeRedisFencedStore(
  client: NodeRedisClient | NodeRedisCluster,
  options: FencedStoreOptions = {},
): FencedStore {
  if (isCluster(client)) return fencedStore(clusterConnection(client), options);
  assertClient(client, (keyPrefix) => `put ${JSON.stringify(keyPrefix)} before each key`);
  return fencedStore(clientConnection(client), options);
}

function clientConnection(client: NodeRedisClient): FencedConnection {
  return {
    isReady: () => client.isReady,
    ...readinessOf(client),
    runScript: (command, script, key, args) => client.sendCommand([command, script, "1", key, ...args], commandOptions),
  };
}

function clusterConnection(client: NodeRedisCluster): FencedConnection {
  return {
    isReady: (key) => isShardReady(client, key),
    ...readinessOf(client),
    runScript: (command, script, key, args) =>
      client.sendCommand(routingKey(key), false, [command, script, "1", key, ...args], commandOptions),
  };
}

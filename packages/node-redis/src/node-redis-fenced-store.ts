import { type FencedConnection, type FencedStore, type FencedStoreOptions, fencedStore } from "@holdfast/redis";
import { assertClient, isCluster } from "./assert-client.ts";
import type { NodeRedisClient, NodeRedisCluster, NodeRedisCommandOptions } from "./client.ts";
import { isShardReady, routingKey } from "./cluster.ts";
import { whyNotReady } from "./why-not-ready.ts";

/** Strings (of type `$` in the protocol) as bytes, however the client is set up; and no deadline but the store's. */
const commandOptions: NodeRedisCommandOptions = { timeout: 0, typeMapping: { 36: Buffer } };

/**
 * Makes a fenced store of a node-redis client: data in Redis that refuses the late writes of a holder that has lost its
 * lock. The client stays yours; it may be of another server than those of the locks. While it is not connected, calls
 * reject.
 *
 * @param client made by `createClient` or `createCluster`
 * @param options see {@link FencedStoreOptions}
 * @throws {TypeError | RangeError} when the client or an option cannot be used, naming it and why
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
    whyNotReady: whyNotReady(client),
    runScript: (command, script, key, args) => client.sendCommand([command, script, "1", key, ...args], commandOptions),
  };
}

function clusterConnection(client: NodeRedisCluster): FencedConnection {
  return {
    isReady: (key) => isShardReady(client, key),
    whyNotReady: whyNotReady(client),
    runScript: (command, script, key, args) =>
      client.sendCommand(routingKey(key), false, [command, script, "1", key, ...args], commandOptions),
  };
}

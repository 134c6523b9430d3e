import { clusterSlot, tagOfSlot } from "@holdfast/redis";
import type { NodeRedisCluster } from "./client.ts";

/** Returns whether a command with this key can be written to its shard now. */
export function isShardReady(client: NodeRedisCluster, key: string): boolean {
  // A shard without a client gets one on first use.
  const shard = client.slots[clusterSlot(key)]?.master.client;
  return client.isOpen && (shard === undefined || shard.isReady);
}

/**
 * Returns a key in the same slot that the client routes correctly: `@redis/client` 5 finds the wrong hash tag in a key
 * with `{}`.
 */
export function routingKey(key: string): string {
  return key.includes("{}") ? tagOfSlot(clusterSlot(key)) : key;
}

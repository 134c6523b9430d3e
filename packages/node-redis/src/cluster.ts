import { clusterSlot, tagOfSlot } from "@holdfast/redis";
import type { NodeRedisCluster } from "./client.ts";

/** Whether what is sent now for this key goes to its shard now. */
export function isShardReady(client: NodeRedisCluster, key: string): boolean {
  // A shard without a client gets one when it is first used.
  const shard = client.slots[clusterSlot(key)]?.master.client;
  return client.isOpen && (shard === undefined || shard.isReady);
}

/** A key with the same slot. `@redis/client` 5 looks for the hash tag in the wrong place where nothing is in the first. */
export function routingKey(key: string): string {
  return key.includes("{}") ? tagOfSlot(clusterSlot(key)) : key;
}

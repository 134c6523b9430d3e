import type { NodeRedisClient, NodeRedisCluster } from "./client.ts";

/** Whether it was made by `createCluster`. */
export function isCluster(client: NodeRedisClient | NodeRedisCluster): client is NodeRedisCluster {
  return typeof client === "object" && client !== null && "masters" in client;
}

/**
 * Throws unless the client was made by `createClient`, and leaves the names of keys as they are.
 *
 * @param advice what to do instead, for its `keyPrefix`
 */
export function assertClient(client: NodeRedisClient, advice: (keyPrefix: unknown) => string): void {
  if (typeof client?.isReady !== "boolean" || typeof client.sendCommand !== "function" || "use" in client) {
    throw new TypeError(
      "client must be made by createClient or createCluster of node-redis, not be a pool or a sentinel",
    );
  }
  const keyPrefix = client.options?.keyPrefix;
  if (keyPrefix) throw new TypeError(`client must not have a keyPrefix: use one without it, and ${advice(keyPrefix)}`);
}

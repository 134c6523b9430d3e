import type { NodeRedisClient, NodeRedisCluster } from "./client.ts";

/** Returns whether the client was created by `createCluster`. */
export function isCluster(client: NodeRedisClient | NodeRedisCluster): client is NodeRedisCluster {
  return typeof client === "object" && client !== null && "masters" in client;
}

/**
 * Throws unless the client was created by `createClient`, without a `keyPrefix`.
 *
 * @param advice the alternative to a `keyPrefix`, as the end of the error message
 */
export function assertClient(client: NodeRedisClient, advice: (keyPrefix: unknown) => string): void {
  if (typeof client?.isReady !== "boolean" || typeof client.sendCommand !== "function" || "use" in client) {
    throw new TypeError(
      "client must be created by createClient or createCluster of node-redis, and not be a pool or a sentinel",
    );
  }
  const keyPrefix = client.options?.keyPrefix;
  if (keyPrefix) throw new TypeError(`client must not have a keyPrefix: use one without it, and ${advice(keyPrefix)}`);
}

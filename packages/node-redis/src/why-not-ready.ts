import { watchErrors } from "@holdfast/redis";
import type { NodeRedisClient, NodeRedisCluster } from "./client.ts";

/** Returns a function that returns why the client is not ready. */
export function whyNotReady(client: NodeRedisClient | NodeRedisCluster): () => unknown {
  const lastError = watchErrors(client);
  return () => lastError() ?? (client.isOpen === false ? "call connect() first" : "it is still connecting");
}

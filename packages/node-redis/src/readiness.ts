import { type RedisConnection, watchClient } from "@holdfast/redis";
import type { NodeRedisClient, NodeRedisCluster } from "./client.ts";

/** The parts of a connection that depend on whether the client is connected. */
type Readiness = Required<Pick<RedisConnection, "whyNotReady" | "firstConnection">>;

/** Returns them for a client. */
export function readinessOf(client: NodeRedisClient | NodeRedisCluster): Readiness {
  const { lastError, firstConnection } = watchClient(client);
  return {
    whyNotReady: () => lastError() ?? (client.isOpen === false ? "call connect() first" : "it is still connecting"),
    firstConnection: () => (client.isOpen ? firstConnection() : undefined),
  };
}

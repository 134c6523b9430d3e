import { type RedisConnection, watchClient } from "@holdfast/redis";
import type { IoredisClient } from "./client.ts";

/** The parts of a connection that depend on whether the client is connected. */
type Readiness = Required<Pick<RedisConnection, "isReady" | "whyNotReady" | "firstConnection">>;

/** Returns them for a client. */
export function readinessOf(client: IoredisClient): Readiness {
  const { lastError, firstConnection } = watchClient(client);
  const isConnecting = (): boolean => client.status === "connecting" || client.status === "connect";
  return {
    isReady: () => client.status === "ready",
    whyNotReady() {
      if (client.status === "wait") return "it was created with lazyConnect: call connect() first";
      if (client.status === "end") return lastError() ?? "it was closed";
      return lastError() ?? (isConnecting() ? "it is still connecting" : undefined);
    },
    firstConnection: () => (isConnecting() ? firstConnection() : undefined),
  };
}

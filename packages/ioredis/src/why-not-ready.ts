import { watchErrors } from "@holdfast/redis";
import type { IoredisClient } from "./client.ts";

/** Returns a function that returns why the client is not ready, or undefined if the reason is unknown. */
export function whyNotReady(client: IoredisClient): () => unknown {
  const lastError = watchErrors(client);
  return () => {
    if (client.status === "wait") return "it was created with lazyConnect: call connect() first";
    if (client.status === "end") return lastError() ?? "it was closed";
    return lastError() ?? (["connecting", "connect"].includes(client.status) ? "it is still connecting" : undefined);
  };
}

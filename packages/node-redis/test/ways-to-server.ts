import type { WayToServer } from "@holdfast/redis-testkit/describe-reasons";
import type { createClient } from "@redis/client";
import type { createClient as createClient5 } from "redis-client5";
import { onTestFinished } from "vitest";
import { nodeRedisNode } from "../src/index.ts";

/** The options of a client of any version for a way to a server. */
export function connectionOptions({ port, password }: WayToServer) {
  return { socket: { port, host: "127.0.0.1" }, ...(password !== undefined && { password }) };
}

/** Returns a node over a client of any version, which is closed when the test ends. */
export function nodeOf(
  client: ReturnType<typeof createClient> | ReturnType<typeof createClient5>,
  { isIdle = false }: WayToServer,
) {
  client.on("error", () => {});
  if (!isIdle) client.connect().catch(() => {});
  onTestFinished(() => {
    if (client.isOpen) client.destroy();
  });
  return nodeRedisNode(client);
}

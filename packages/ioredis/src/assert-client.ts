import type { IoredisClient } from "./client.ts";

/**
 * Throws unless the client is one of ioredis that leaves the names of keys as they are.
 *
 * @param advice why it must, and what to do instead, for its `keyPrefix`
 */
export function assertClient(client: IoredisClient, advice: (keyPrefix: string) => string): void {
  if (typeof client?.evalsha !== "function" || typeof client.duplicate !== "function") {
    throw new TypeError("client must be a Redis or a Cluster of ioredis, or of a library with its interface");
  }
  const { keyPrefix } = client.options;
  if (keyPrefix) throw new TypeError(`client must not have a keyPrefix${advice(keyPrefix)}`);
}

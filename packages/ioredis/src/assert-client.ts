import type { IoredisClient } from "./client.ts";

/**
 * Throws unless the client is an ioredis client without a `keyPrefix`.
 *
 * @param advice the reason against a `keyPrefix` and the alternative, as the end of the error message
 */
export function assertClient(client: IoredisClient, advice: (keyPrefix: string) => string): void {
  if (typeof client?.evalsha !== "function" || typeof client.duplicate !== "function") {
    throw new TypeError("client must be an ioredis Redis or Cluster, or a client with the same interface");
  }
  const { keyPrefix } = client.options;
  if (keyPrefix) throw new TypeError(`client must not have a keyPrefix${advice(keyPrefix)}`);
}

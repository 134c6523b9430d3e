import { type IoredisClient, ioredisNode, type RedisNode } from "@holdfast/ioredis";

/** A `Redis` or `Cluster` of ioredis, which `quit()` can close. */
export interface Client extends IoredisClient {
  /** Closes the connection once pending commands are done. */
  quit(): Promise<unknown>;
}

/** How long a node may take to reply if that is at most half of the ttl, in milliseconds: the old libraries have no limit. */
const patienceMs = 1_000;

/**
 * Returns a lock node over a client of the application. It opens no connection of its own, as the old libraries open none
 * and most programs that use them have no place where it would be closed.
 *
 * @param prefix the prefix of the keys
 * @throws {TypeError} unless it is an ioredis client without a `keyPrefix`
 */
export function nodeOver(client: IoredisClient, prefix: string): RedisNode {
  // Clients of `redis` 3, which the old libraries took, have all methods of ioredis.
  if (typeof client?.status !== "string") throw new TypeError("client must be an ioredis Redis or Cluster");
  const { keyPrefix } = client.options;
  if (keyPrefix) {
    const option = JSON.stringify(keyPrefix);
    throw new TypeError(`client must not have a keyPrefix: use one without it, and the option keyPrefix: ${option}`);
  }
  return Object.assign(ioredisNode(client, { prefix, wakeUps: false }), { suggestedTimeoutMs: patienceMs });
}

import { Redlock } from "@holdfast/core";
import { type IoredisClient, ioredisNode, type RedisNode } from "@holdfast/ioredis";

/** A `Redis` or `Cluster` of ioredis, which `quit()` can close. */
export interface Client extends IoredisClient {
  /** Closes the connection once pending commands are done. */
  quit(): Promise<unknown>;
}

/** A client that may be created with `lazyConnect`. */
type LazyClient = IoredisClient & { connect?(): Promise<unknown> };

/** How long a node may take to reply if that is at most half of the ttl, in milliseconds: the old libraries have no limit. */
const patienceMs = 1_000;

/**
 * Returns a lock node over a client of the application. It opens no connection of its own, as the old libraries open none
 * and most programs that use them have no place where it would be closed. Its first claim connects a client that was
 * created with `lazyConnect`, as any command does.
 *
 * @param prefix the prefix of the keys
 * @throws {TypeError} unless it is an ioredis client without a `keyPrefix`
 */
export function nodeOver(client: LazyClient, prefix: string): RedisNode {
  // Clients of `redis` 3, which the old libraries took, have all methods of ioredis.
  if (typeof client?.status !== "string") throw new TypeError("client must be an ioredis Redis or Cluster");
  const { keyPrefix } = client.options;
  if (keyPrefix) {
    const option = JSON.stringify(keyPrefix);
    throw new TypeError(`client must not have a keyPrefix: use one without it, and the option keyPrefix: ${option}`);
  }
  const node = ioredisNode(client, { prefix, wakeUps: false });
  const acquire: RedisNode["acquire"] = (request) => {
    if (client.status === "wait") client.connect?.().catch(() => {}); // the client emits the error
    return node.acquire(request);
  };
  return { ...node, acquire, suggestedTimeoutMs: patienceMs };
}

/** The `Redlock`s that are in use, by the first of their clients. */
const redlocks = new WeakMap<IoredisClient, Known[]>();

interface Known {
  readonly clients: readonly IoredisClient[];
  readonly prefix: string;
  readonly redlock: Redlock;
}

/**
 * Returns one `Redlock` for all locks over the same clients, so that those of this process wait in one line. It retries at
 * the interval that was asked for first.
 */
export function redlockOver(clients: readonly IoredisClient[], prefix: string, retryInterval: number): Redlock {
  const isOverThese = (known: Known): boolean =>
    known.prefix === prefix &&
    known.clients.length === clients.length &&
    known.clients.every((client, index) => client === clients[index]);
  const [first] = clients;
  const others = first && redlocks.get(first);
  const known = others?.find(isOverThese);
  if (known !== undefined) return known.redlock;
  const retryDelayMs = Math.max(1, 2 * retryInterval); // core draws from 0 to this limit
  const nodes = clients.map((client) => nodeOver(client, prefix));
  const redlock = new Redlock(nodes, { retryDelayMs, retryDelayMaxMs: retryDelayMs });
  redlocks.set(first as IoredisClient, [...(others ?? []), { clients: [...clients], prefix, redlock }]);
  return redlock;
}

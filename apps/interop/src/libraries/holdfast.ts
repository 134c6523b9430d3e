import { LockLostError, type LockNode, Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { nodeRedisNode } from "@holdfast/node-redis";
import { createClient } from "@redis/client";
import { disconnect, ioredisClients, unless } from "./clients.ts";
import type { Library, Locker } from "./library.ts";

/** Generous: a busy machine must not turn a conflict into a failure. */
const nodeTimeoutMs = 10_000;

export const holdfastOverIoredis: Library = {
  name: "Holdfast over ioredis",
  locksSeveral: true,
  async connect(ports) {
    const clients = await ioredisClients(ports);
    return lockerOver(
      clients.map((client) => ioredisNode(client, { prefix: "" })),
      "",
      () => disconnect(clients),
    );
  },
};

/** With the prefix of redis-semaphore, which makes the same keys of names that do not begin with it. */
export const holdfastOverNodeRedis: Library = {
  name: 'Holdfast over node-redis, prefix "mutex:"',
  locksSeveral: true,
  async connect(ports) {
    const clients = ports.map((port) => createClient({ url: `redis://127.0.0.1:${port}` }));
    await Promise.all(clients.map((client) => client.connect()));
    const nodes = clients.map((client) => nodeRedisNode(client, { prefix: "mutex:" }));
    return lockerOver(nodes, "mutex:", () => {
      for (const client of clients) client.destroy();
    });
  },
};

function lockerOver(nodes: readonly LockNode[], prefix: string, close: () => void): Locker {
  const redlock = new Redlock(nodes, { nodeTimeoutMs, ttlMs: 60_000 });
  return {
    async tryLock(keys, ttlMs) {
      const resources = keys.map((key) => key.slice(prefix.length));
      const lock = await redlock.tryAcquire(resources, { ttlMs });
      if (lock === null) return null;
      return {
        value: lock.owner,
        fence: lock.fence,
        extend: async (newTtlMs) =>
          await unless(
            lock.extend({ ttlMs: newTtlMs }).then(() => true),
            LockLostError,
            false,
          ),
        release: () => lock.release(),
      };
    },
    close,
  };
}

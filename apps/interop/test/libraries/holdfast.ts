import { type ConnectedNodes, connectNodes } from "@holdfast/app-kit/nodes";
import { LockLostError, Redlock } from "@holdfast/core";
import { type Library, type Locker, unless } from "./library.ts";

/** Generous: a busy machine must not turn a conflict into a failure. */
const nodeTimeoutMs = 10_000;

export const holdfastOverIoredis: Library = {
  name: "Holdfast over ioredis",
  locksSeveral: true,
  connect: async (ports) => lockerOver(await connectNodes("ioredis", ports, { prefix: "" }), ""),
};

/** With the prefix of redis-semaphore. Names without the prefix then get the same keys. */
export const holdfastOverNodeRedis: Library = {
  name: 'Holdfast over node-redis, prefix "mutex:"',
  locksSeveral: true,
  connect: async (ports) => lockerOver(await connectNodes("node-redis", ports, { prefix: "mutex:" }), "mutex:"),
};

function lockerOver({ nodes, close }: ConnectedNodes, prefix: string): Locker {
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
    close: () => void close(),
  };
}

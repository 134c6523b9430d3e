/** redlock-universal, which has a lock object for each key. This client keeps the objects, as users do. */
import { connectIoredis, connectNodeRedis, disconnect, type NodeRedisClient } from "@holdfast/app-kit/clients";
import type { Redis } from "ioredis";
import {
  createLock,
  createRedlock,
  IoredisAdapter,
  type Lock,
  NodeRedisAdapter,
  type RedisAdapter,
} from "redlock-universal";
import { type Client, type Connect, type Settings, ttlMs } from "./contender.ts";

const tuned = { retryDelay: 10, retryAttempts: 1_000 };

export const overIoredis: Connect = async (ports, settings) => {
  const clients = await connectIoredis(ports);
  return universalClient(clients, (client) => new IoredisAdapter(client), settings);
};

export const overNodeRedis: Connect = async (ports, settings) => {
  const clients = await connectNodeRedis(ports);
  return universalClient(clients, (client) => new NodeRedisAdapter(client), settings);
};

function universalClient<One extends Redis | NodeRedisClient>(
  clients: readonly One[],
  adapt: (client: One) => RedisAdapter,
  { waiting }: Settings,
): Client {
  const adapters = clients.map(adapt);
  const [adapter, ...others] = adapters;
  const tuning = waiting === "tuned" ? tuned : {};
  const locks = new Map<string, Lock>();
  const lockFor = (key: string): Lock => {
    const known = locks.get(key);
    if (known !== undefined) return known;
    const options = { key, ttl: ttlMs, ...tuning };
    const lock =
      adapter && others.length === 0 ? createLock({ adapter, ...options }) : createRedlock({ adapters, ...options });
    locks.set(key, lock);
    return lock;
  };
  return {
    async acquire(key) {
      const lock = lockFor(key);
      const handle = await lock.acquire();
      return () => lock.release(handle);
    },
    close: () => disconnect(clients),
  };
}

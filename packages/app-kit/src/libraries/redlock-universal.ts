/** redlock-universal, which has a lock object for each key. A user keeps the objects, and locks one key at a time. */
import {
  type CreateLockConfig,
  createLock,
  createRedlock,
  IoredisAdapter,
  type Lock,
  LockAcquisitionError,
  type LockHandle,
  NodeRedisAdapter,
  type RedisAdapter,
} from "redlock-universal";
import { type Address, connectIoredis, connectNodeRedis, disconnect } from "../clients.ts";
import type { ConnectUser } from "./library.ts";

type Retries = Pick<CreateLockConfig, "retryDelay" | "retryAttempts">;
type Held = readonly [lock: Lock, handle: LockHandle];

interface Connection {
  readonly adapters: RedisAdapter[];
  close(): void;
}

export const connectUniversal: ConnectUser<Held, Retries> = connecting(async (addresses) => {
  const clients = await connectIoredis(addresses);
  return { adapters: clients.map((client) => new IoredisAdapter(client)), close: () => disconnect(clients) };
});

export const connectUniversalOverNodeRedis: ConnectUser<Held, Retries> = connecting(async (addresses) => {
  const clients = await connectNodeRedis(addresses);
  return { adapters: clients.map((client) => new NodeRedisAdapter(client)), close: () => disconnect(clients) };
});

function connecting(connect: (addresses: readonly Address[]) => Promise<Connection>): ConnectUser<Held, Retries> {
  return async (addresses, retries) => {
    const { adapters, close } = await connect(addresses);
    const [adapter, ...others] = adapters;
    const locks = new Map<string, { readonly ttlMs: number; readonly lock: Lock }>();
    const lockOf = (key: string, ttlMs: number): Lock => {
      const known = locks.get(key);
      if (known?.ttlMs === ttlMs) return known.lock;
      const options = { key, ttl: ttlMs, ...retries };
      const lock =
        adapter && others.length === 0 ? createLock({ adapter, ...options }) : createRedlock({ adapters, ...options });
      locks.set(key, { ttlMs, lock });
      return lock;
    };
    return {
      async acquire([key = ""], ttlMs) {
        const lock = lockOf(key, ttlMs);
        return [lock, await lock.acquire()];
      },
      extend: async (held, ttlMs) => ((await held[0].extend(held[1], ttlMs)) ? held : null),
      release: ([lock, handle]) => lock.release(handle),
      valueOf: ([, { value }]) => value,
      denial: LockAcquisitionError,
      close,
    };
  };
}

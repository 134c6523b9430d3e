import { createLock, createRedlock, type Lock, type RedisAdapter } from "redlock-universal";
import type { Client, Settings } from "./contender.ts";
import { tunedUniversal } from "./tuned.ts";

/** redlock-universal, which makes an object for each key, and users keep. */
export function universalClient(adapters: readonly RedisAdapter[], { waiting }: Settings, close: () => void): Client {
  const [adapter, ...others] = adapters;
  const tuning = waiting === "tuned" ? tunedUniversal : {};
  const locks = new Map<string, Lock>();
  const lockOf = (key: string, ttl: number): Lock => {
    const known = locks.get(key);
    if (known !== undefined) return known;
    const options = { key, ttl, ...tuning };
    const lock =
      adapter && others.length === 0 ? createLock({ adapter, ...options }) : createRedlock({ adapters, ...options });
    locks.set(key, lock);
    return lock;
  };
  return {
    async acquire([key = ""], ttlMs) {
      const lock = lockOf(key, ttlMs);
      const handle = await lock.acquire();
      return () => lock.release(handle);
    },
    close,
  };
}

import { type LockOptions, Mutex, RedlockMutex, TimeoutError } from "redis-semaphore";
import { connectIoredis, disconnect } from "../clients.ts";
import type { ConnectUser } from "./library.ts";

/** redis-semaphore, which locks one key at a time, and puts `mutex:` before it. */
export const connectRedisSemaphore: ConnectUser<Mutex | RedlockMutex, LockOptions> = async (addresses, options) => {
  const clients = await connectIoredis(addresses);
  const [only, ...others] = clients;
  const names = new WeakMap<object, string>();
  return {
    async acquire([name = ""], ttlMs) {
      const own = { ...options, lockTimeout: ttlMs };
      const mutex = only && others.length === 0 ? new Mutex(only, name, own) : new RedlockMutex(clients, name, own);
      names.set(mutex, name);
      await mutex.acquire();
      return mutex;
    },
    /** Extensions are automatic. A manual one needs a second mutex with the same identifier. */
    async extend(mutex, ttlMs) {
      const { identifier } = mutex;
      const own = { ...options, identifier, acquiredExternally: true as const, lockTimeout: ttlMs };
      return (await new RedlockMutex(clients, names.get(mutex) ?? "", own).tryAcquire()) ? mutex : null;
    },
    release: (mutex) => mutex.release(),
    valueOf: ({ identifier }) => identifier,
    denial: TimeoutError,
    close: () => disconnect(clients),
  };
};

import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import type { Redis } from "ioredis";
import { Mutex, RedlockMutex } from "redis-semaphore";
import type { HeldLock, Library } from "./library.ts";

/** The fixed prefix of its keys. */
const keyPrefix = "mutex:";

export const redisSemaphore: Library = {
  name: "redis-semaphore",
  locksSeveral: false,
  async connect(ports) {
    const clients = await connectIoredis(ports);
    return {
      async tryLock([key = ""], ttlMs) {
        const name = key.slice(keyPrefix.length);
        const options = { lockTimeout: ttlMs, acquireAttemptsLimit: 1, refreshInterval: 0 };
        const [client, ...others] = clients;
        const mutex =
          client && others.length === 0 ? new Mutex(client, name, options) : new RedlockMutex(clients, name, options);
        return (await mutex.tryAcquire()) ? held(mutex, clients, name) : null;
      },
      close: () => disconnect(clients),
    };
  },
};

function held(mutex: Mutex | RedlockMutex, clients: readonly Redis[], name: string): HeldLock {
  return {
    value: mutex.identifier,
    /** Extensions are automatic. A manual one needs a second mutex with the same identifier. */
    extend: (ttlMs) =>
      new RedlockMutex([...clients], name, {
        identifier: mutex.identifier,
        acquiredExternally: true,
        lockTimeout: ttlMs,
        refreshInterval: 0,
      }).tryAcquire(),
    release: () => mutex.release(),
  };
}

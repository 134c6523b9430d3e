import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { Mutex, RedlockMutex } from "redis-semaphore";
import { type Connect, ttlMs } from "./contender.ts";

export const connect: Connect = async (ports, { waiting }) => {
  const clients = await connectIoredis(ports);
  const [only, ...others] = clients;
  const tuning = waiting === "tuned" ? { retryInterval: 2 } : {};
  return {
    async acquire(key) {
      const options = { lockTimeout: ttlMs, ...tuning };
      const mutex =
        only && others.length === 0 ? new Mutex(only, key, options) : new RedlockMutex(clients, key, options);
      await mutex.acquire();
      return () => mutex.release();
    },
    close: () => disconnect(clients),
  };
};

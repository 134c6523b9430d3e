import { disconnect } from "@holdfast/interop/clients";
import { Mutex, RedlockMutex } from "redis-semaphore";
import { ioredisClients } from "./clients.ts";
import type { Client, Settings } from "./contender.ts";
import { tunedSemaphore } from "./tuned.ts";

export async function connect(ports: readonly number[], { waiting }: Settings): Promise<Client> {
  const clients = await ioredisClients(ports);
  const [only, ...others] = clients;
  const tuning = waiting === "tuned" ? tunedSemaphore : {};
  return {
    async acquire([key = ""], lockTimeout) {
      const options = { lockTimeout, ...tuning };
      const mutex =
        only && others.length === 0 ? new Mutex(only, key, options) : new RedlockMutex(clients, key, options);
      await mutex.acquire();
      return () => mutex.release();
    },
    close: () => disconnect(clients),
  };
}

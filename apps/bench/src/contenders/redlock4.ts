import { disconnect } from "@holdfast/interop/clients";
import Redlock from "redlock4";
import { ioredisClients } from "./clients.ts";
import type { Client, Settings } from "./contender.ts";
import { tunedRedlock } from "./tuned.ts";

export async function connect(ports: readonly number[], { waiting }: Settings): Promise<Client> {
  const clients = await ioredisClients(ports);
  const redlock = new Redlock(clients, waiting === "tuned" ? tunedRedlock : {});
  return {
    acquire: async (keys, ttlMs) => {
      const lock = await redlock.lock([...keys], ttlMs);
      return () => lock.unlock();
    },
    close: () => disconnect(clients),
  };
}

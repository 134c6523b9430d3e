import { disconnect } from "@holdfast/interop/clients";
import { Redlock } from "@sesamecare-oss/redlock";
import { ioredisClients } from "./clients.ts";
import type { Client, Settings } from "./contender.ts";
import { tunedRedlock } from "./tuned.ts";

export async function connect(ports: readonly number[], { waiting }: Settings): Promise<Client> {
  const clients = await ioredisClients(ports);
  const redlock = new Redlock(clients, waiting === "tuned" ? tunedRedlock : {});
  return {
    acquire: async (keys, ttlMs) => {
      const lock = await redlock.acquire([...keys], ttlMs);
      return () => lock.release();
    },
    close: () => disconnect(clients),
  };
}

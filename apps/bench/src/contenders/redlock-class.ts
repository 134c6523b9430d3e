import { disconnect } from "@holdfast/interop/clients";
import { ioredisClients } from "./clients.ts";
import type { Client, Settings } from "./contender.ts";
import { tunedRedlock } from "./tuned.ts";

/** The class of redlock 5, or that of its fork. */
type RedlockClass = new (
  clients: Awaited<ReturnType<typeof ioredisClients>>,
  settings: Partial<typeof tunedRedlock>,
) => { acquire(keys: string[], ttlMs: number): Promise<{ release(): Promise<unknown> }> };

/** Makes what connects a contender that is of such a class. */
export function connectWith(Redlock: RedlockClass) {
  return async (ports: readonly number[], { waiting }: Settings): Promise<Client> => {
    const clients = await ioredisClients(ports);
    const redlock = new Redlock(clients, waiting === "tuned" ? tunedRedlock : {});
    return {
      acquire: async (keys, ttlMs) => {
        const lock = await redlock.acquire([...keys], ttlMs);
        return () => lock.release();
      },
      close: () => disconnect(clients),
    };
  };
}

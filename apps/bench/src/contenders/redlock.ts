/** redlock 4, redlock 5 and the fork of the latter. */
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import type { Connect } from "./contender.ts";

type Clients = Awaited<ReturnType<typeof connectIoredis>>;

const tuned = { retryDelay: 10, retryJitter: 5, retryCount: 1_000 };

/** The class of redlock 5, or that of its fork. */
type Redlock5 = new (
  clients: Clients,
  settings: Partial<typeof tuned>,
) => { acquire(keys: string[], ttlMs: number): Promise<{ release(): Promise<unknown> }> };

/** Connects redlock 5 or its fork. */
export function connectRedlock5(Redlock: Redlock5): Connect {
  return async (ports, { waiting }) => {
    const clients = await connectIoredis(ports);
    const redlock = new Redlock(clients, waiting === "tuned" ? tuned : {});
    return {
      async acquire(key, ttlMs) {
        const lock = await redlock.acquire([key], ttlMs);
        return () => lock.release();
      },
      close: () => disconnect(clients),
    };
  };
}

type Redlock4 = new (
  clients: Clients,
  settings: Partial<typeof tuned>,
) => { lock(keys: string[], ttlMs: number): PromiseLike<{ unlock(): PromiseLike<unknown> }> };

/** Connects redlock 4. */
export function connectRedlock4(Redlock: Redlock4): Connect {
  return async (ports, { waiting }) => {
    const clients = await connectIoredis(ports);
    const redlock = new Redlock(clients, waiting === "tuned" ? tuned : {});
    return {
      async acquire(key, ttlMs) {
        const lock = await redlock.lock([key], ttlMs);
        return () => lock.unlock();
      },
      close: () => disconnect(clients),
    };
  };
}

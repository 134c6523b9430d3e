/** redlock 4, redlock 5 and the fork of the latter. */
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import type { Connect, Release, Settings } from "./contender.ts";

type Clients = Awaited<ReturnType<typeof connectIoredis>>;

interface Retries {
  readonly retryDelay?: number;
  readonly retryJitter?: number;
  readonly retryCount?: number;
}

const retries: Partial<Record<Settings["waiting"], Retries>> = {
  tuned: { retryDelay: 10, retryJitter: 5, retryCount: 1_000 },
  patient: { retryCount: -1 },
};

/** Connects with a class, whose instances `acquire` locks with. */
function connectRedlock<Redlock>(
  Class: new (clients: Clients, retries: Retries) => Redlock,
  acquire: (redlock: Redlock, key: string, ttlMs: number) => Promise<Release>,
): Connect {
  return async (ports, { waiting }) => {
    const clients = await connectIoredis(ports);
    const redlock = new Class(clients, retries[waiting] ?? {});
    return {
      acquire: (key, ttlMs) => acquire(redlock, key, ttlMs),
      close: () => disconnect(clients),
    };
  };
}

interface Redlock5 {
  acquire(keys: string[], ttlMs: number): Promise<{ release(): Promise<unknown> }>;
}

/** Connects redlock 5 or its fork. */
export function connectRedlock5(Class: new (clients: Clients, retries: Retries) => Redlock5): Connect {
  return connectRedlock(Class, async (redlock, key, ttlMs) => {
    const lock = await redlock.acquire([key], ttlMs);
    return () => lock.release();
  });
}

interface Redlock4 {
  lock(keys: string[], ttlMs: number): PromiseLike<{ unlock(): PromiseLike<unknown> }>;
}

/** Connects redlock 4. */
export function connectRedlock4(Class: new (clients: Clients, retries: Retries) => Redlock4): Connect {
  return connectRedlock(Class, async (redlock, key, ttlMs) => {
    const lock = await redlock.lock([key], ttlMs);
    return () => lock.unlock();
  });
}

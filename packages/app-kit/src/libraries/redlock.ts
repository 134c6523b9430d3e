/// <reference path="./redlock.d.ts" />
/** redlock 4, redlock 5 and the fork of the latter. Each is loaded when a user connects. */
import type { Redis } from "ioredis";
import type Redlock4 from "redlock4";
import { connectIoredis, disconnect } from "../clients.ts";
import type { ConnectUser, LibraryUser } from "./library.ts";

/** How often all of these libraries retry, and after how long. */
export type RedlockRetries = Record<"retryDelay" | "retryJitter" | "retryCount", number>;

export const connectRedlock4: ConnectUser<Redlock4.Lock, RedlockRetries> = async (addresses, retries) => {
  const { default: Redlock } = await import("redlock4");
  const clients = await connectIoredis(addresses);
  const redlock = new Redlock(clients, retries);
  return {
    acquire: (keys, ttlMs) => redlock.lock(keys, ttlMs),
    extend: (lock, ttlMs) => lock.extend(ttlMs),
    release: (lock) => lock.unlock(),
    valueOf: ({ value }) => value,
    denial: Redlock.LockError,
    close: () => disconnect(clients),
  };
};

/** A lock of redlock 5. Its extension is a new lock. */
interface SuccessiveLock {
  readonly value: string;
  extend(duration: number): Promise<SuccessiveLock>;
  release(): Promise<unknown>;
}

/** The class of redlock 5, or that of its fork. */
type Redlock5 = new (
  clients: Redis[],
  retries: Partial<RedlockRetries>,
) => { acquire(keys: string[], ttlMs: number): Promise<SuccessiveLock> };

interface Redlock5Module {
  readonly Redlock: Redlock5;
  readonly denial: LibraryUser<SuccessiveLock>["denial"];
}

export const connectRedlock5 = connecting(async () => {
  const { default: Redlock, ExecutionError: denial } = await import("redlock5");
  return { Redlock, denial };
});

export const connectSesamecare = connecting(async () => {
  const { Redlock, ExecutionError: denial } = await import("@sesamecare-oss/redlock");
  return { Redlock, denial };
});

function connecting(load: () => Promise<Redlock5Module>): ConnectUser<SuccessiveLock, RedlockRetries> {
  return async (addresses, retries) => {
    const { Redlock, denial } = await load();
    const clients = await connectIoredis(addresses);
    const redlock = new Redlock(clients, retries);
    return {
      acquire: (keys, ttlMs) => redlock.acquire([...keys], ttlMs),
      extend: (lock, ttlMs) => lock.extend(ttlMs),
      release: (lock) => lock.release(),
      valueOf: ({ value }) => value,
      denial,
      close: () => disconnect(clients),
    };
  };
}

/** redlock 5, and its fork. */
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import * as fork from "@sesamecare-oss/redlock";
import type { Redis } from "ioredis";
import Redlock, { ExecutionError } from "redlock5";
import type { HeldLock, Library } from "./library.ts";
import { unless } from "./unless.ts";

export const redlock5: Library = over("redlock 5", Redlock, ExecutionError);
export const sesamecare: Library = over("@sesamecare-oss/redlock", fork.Redlock, fork.ExecutionError);

/** A lock whose extension returns a new lock. */
interface SuccessiveLock {
  readonly value: string;
  extend(duration: number): Promise<SuccessiveLock>;
  release(): Promise<unknown>;
}

type Redlock5 = new (
  clients: Redis[],
  settings: { retryCount: number },
) => { acquire(resources: string[], duration: number): Promise<SuccessiveLock> };

// biome-ignore lint/suspicious/noExplicitAny: a class with any constructor
type Denial = abstract new (...args: any[]) => Error;

function over(name: string, Redlock: Redlock5, denial: Denial): Library {
  return {
    name,
    locksSeveral: true,
    async connect(ports) {
      const clients = await connectIoredis(ports);
      const redlock = new Redlock(clients, { retryCount: 0 });
      return {
        async tryLock(keys, ttlMs) {
          const lock = await unless(redlock.acquire([...keys], ttlMs), denial, null);
          return lock && held(lock, denial);
        },
        close: () => disconnect(clients),
      };
    },
  };
}

function held(first: SuccessiveLock, denial: Denial): HeldLock {
  let lock = first;
  return {
    value: first.value,
    async extend(ttlMs) {
      const next = await unless(lock.extend(ttlMs), denial, null);
      lock = next ?? lock;
      return next !== null;
    },
    release: async () => void (await unless(lock.release(), denial, null)),
  };
}

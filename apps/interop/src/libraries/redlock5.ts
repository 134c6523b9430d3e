import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import Redlock, { ExecutionError } from "redlock5";
import type { HeldLock, Library } from "./library.ts";
import { unless } from "./unless.ts";

export const redlock5: Library = {
  name: "redlock 5",
  locksSeveral: true,
  async connect(ports) {
    const clients = await connectIoredis(ports);
    const redlock = new Redlock(clients, { retryCount: 0 });
    return {
      async tryLock(keys, ttlMs) {
        const lock = await unless(redlock.acquire([...keys], ttlMs), ExecutionError, null);
        return lock && heldSuccessively(lock, ExecutionError);
      },
      close: () => disconnect(clients),
    };
  },
};

/** A lock of `redlock` 5 or its descendants, whose extension returns a new lock. */
interface SuccessiveLock {
  readonly value: string;
  extend(duration: number): Promise<SuccessiveLock>;
  release(): Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: a class with any constructor
export function heldSuccessively(first: SuccessiveLock, denial: abstract new (...args: any[]) => Error): HeldLock {
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

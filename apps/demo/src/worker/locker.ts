import type { Lock, LockOptions, Redlock } from "@holdfast/core";

/** What a worker needs of the lock that it holds. */
export type HeldLock = Pick<Lock, "fence" | "signal" | "remainingMs">;

/** Runs a routine under a lock. */
export type Locker = <T>(resource: string, options: LockOptions, routine: (lock: HeldLock) => Promise<T>) => Promise<T>;

/** The real one. */
export function lockerOf(redlock: Redlock): Locker {
  return (resource, options, routine) => redlock.using(resource, options, routine);
}

/** Lets everybody in at once, under one and the same token: what `--break` runs with. */
export const noLock: Locker = (_resource, _options, routine) => {
  const { signal } = new AbortController();
  return routine({ fence: 0, signal, remainingMs: () => Number.POSITIVE_INFINITY });
};

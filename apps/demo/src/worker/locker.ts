import type { Lock, LockOptions, Redlock } from "@holdfast/core";

/** The part of a held lock that workers use. */
export type HeldLock = Pick<Lock, "fence" | "signal" | "remainingMs">;

/** Runs a routine under a lock. */
export type Locker = <T>(resource: string, options: LockOptions, routine: (lock: HeldLock) => Promise<T>) => Promise<T>;

/** Locks for real. */
export function lockerOf(redlock: Redlock): Locker {
  return (resource, options, routine) => redlock.using(resource, options, routine);
}

/** Locks nothing and gives every caller the same token, for `--break`. */
export const noLock: Locker = (_resource, _options, routine) => {
  const { signal } = new AbortController();
  return routine({ fence: 0, signal, remainingMs: () => Number.POSITIVE_INFINITY });
};

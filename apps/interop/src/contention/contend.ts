import { setTimeout as sleep } from "node:timers/promises";
import type { HeldLock, Locker } from "../libraries/library.ts";
import type { Store } from "./store.ts";

/** The task of a contender. */
export interface Task {
  /** The keys that all contenders want. */
  readonly keys: readonly string[];
  /** The number of locks to hold, one after another. */
  readonly locks: number;
  /** Whether every fourth lock covers two keys. */
  readonly locksSeveral: boolean;
  /** The time limit, in milliseconds. */
  readonly limitMs: number;
}

/** The results of a contender that has done nothing. */
export const noCounts = {
  locks: 0,
  /** Those of the locks that covered two keys. */
  doubleLocks: 0,
  /** Attempts that failed because another client held a key. */
  conflicts: 0,
  /** Increments that were made under the locks. */
  increments: 0,
  extensions: 0,
  /** Locks that could not be extended, though their ttl was far from its end. */
  lostLocks: 0,
  /** Fencing tokens that were not larger than the one before on the same key. */
  staleTokens: 0,
};

/** The results of a contender. */
export type Counts = typeof noCounts;

/** Far longer than the contest, so that locks end by release alone. */
const ttlMs = 120_000;
const pauseMaxMs = 8;

/** Locks, changes the protected numbers, and unlocks, repeatedly. */
export async function contend(locker: Locker, store: Store, task: Task): Promise<Counts> {
  const counts = { ...noCounts };
  const deadlineMs = performance.now() + task.limitMs;
  while (counts.locks < task.locks) {
    if (performance.now() > deadlineMs)
      throw new Error(`only ${counts.locks} of ${task.locks} locks in ${task.limitMs} ms`);
    const keys = choose(task.keys, task.locksSeveral && counts.locks % 4 === 3 ? 2 : 1);
    const lock = await locker.tryLock(keys, ttlMs);
    if (lock === null) counts.conflicts += 1;
    else await use(lock, keys, store, counts);
    await sleep(Math.random() * pauseMaxMs);
  }
  return counts;
}

async function use(lock: HeldLock, keys: readonly string[], store: Store, counts: Counts): Promise<void> {
  counts.locks += 1;
  if (keys.length > 1) counts.doubleLocks += 1;
  for (const key of keys) {
    if (lock.fence !== undefined && !(await store.isNewer(key, lock.fence))) counts.staleTokens += 1;
    await store.increment(key);
    counts.increments += 1;
  }
  if (counts.locks % 3 === 0) {
    if (await lock.extend(ttlMs)) counts.extensions += 1;
    else counts.lostLocks += 1;
  }
  await lock.release();
}

/** Chooses different keys at random. */
function choose(keys: readonly string[], count: number): string[] {
  const left = [...keys];
  return Array.from({ length: count }, () => left.splice(Math.floor(Math.random() * left.length), 1)).flat();
}

import { setTimeout as sleep } from "node:timers/promises";
import type { HeldLock, Locker } from "../libraries/library.ts";
import type { Store } from "./store.ts";

/** What one contender is to do. */
export interface Task {
  /** The keys that all contenders want. */
  readonly keys: readonly string[];
  /** How many locks to hold, one after another. */
  readonly locks: number;
  /** Whether some of the locks are to cover two keys. */
  readonly locksSeveral: boolean;
  /** How long it may take in all, in milliseconds. */
  readonly limitMs: number;
}

/** What came of it. */
export interface Tally {
  locks: number;
  /** Those of them that covered two keys. */
  doubleLocks: number;
  /** Attempts that failed because somebody else held a key. */
  conflicts: number;
  extensions: number;
  /** Locks that ended while they were held, far from the end of their ttl. */
  lostLocks: number;
  /** Fencing tokens that were not larger than the one before on the same key. */
  staleTokens: number;
  /** How often each number was incremented. */
  readonly increments: Record<string, number>;
}

/** Far longer than anything here takes: a lock must end by its release alone. */
const ttlMs = 120_000;
const pauseMsMax = 8;

/** Locks, changes what the locks protect, and unlocks, so many times. */
export async function contend(locker: Locker, store: Store, task: Task): Promise<Tally> {
  const increments = Object.fromEntries(task.keys.map((key) => [key, 0]));
  const tally: Tally = {
    locks: 0,
    doubleLocks: 0,
    conflicts: 0,
    extensions: 0,
    lostLocks: 0,
    staleTokens: 0,
    increments,
  };
  const deadlineMs = performance.now() + task.limitMs;
  while (tally.locks < task.locks) {
    if (performance.now() > deadlineMs) throw new Error(`got ${tally.locks} of ${task.locks} locks in ${task.limitMs} ms`);
    const keys = choose(task.keys, task.locksSeveral && tally.locks % 4 === 3 ? 2 : 1);
    const lock = await locker.tryLock(keys, ttlMs);
    if (lock === null) tally.conflicts += 1;
    else await use(lock, keys, store, tally);
    await sleep(Math.random() * pauseMsMax);
  }
  return tally;
}

async function use(lock: HeldLock, keys: readonly string[], store: Store, tally: Tally): Promise<void> {
  tally.locks += 1;
  if (keys.length > 1) tally.doubleLocks += 1;
  for (const key of keys) {
    if (lock.fence !== undefined && !(await store.isNewer(key, lock.fence))) tally.staleTokens += 1;
    await store.increment(key);
    tally.increments[key] = (tally.increments[key] ?? 0) + 1;
  }
  if (tally.locks % 3 === 0) {
    if (await lock.extend(ttlMs)) tally.extensions += 1;
    else tally.lostLocks += 1;
  }
  await lock.release();
}

/** So many different keys, at random. */
function choose(keys: readonly string[], count: number): string[] {
  const left = [...keys];
  return Array.from({ length: count }, () => left.splice(Math.floor(Math.random() * left.length), 1)).flat();
}

/** Adds up. */
export function sum(tallies: readonly Tally[]): Tally {
  const total = { locks: 0, doubleLocks: 0, conflicts: 0, extensions: 0, lostLocks: 0, staleTokens: 0, increments: {} };
  return tallies.reduce<Tally>(
    (so, far) => ({
      locks: so.locks + far.locks,
      doubleLocks: so.doubleLocks + far.doubleLocks,
      conflicts: so.conflicts + far.conflicts,
      extensions: so.extensions + far.extensions,
      lostLocks: so.lostLocks + far.lostLocks,
      staleTokens: so.staleTokens + far.staleTokens,
      increments: addUp(so.increments, far.increments),
    }),
    total,
  );
}

function addUp(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const total = { ...a };
  for (const [key, count] of Object.entries(b)) total[key] = (total[key] ?? 0) + count;
  return total;
}

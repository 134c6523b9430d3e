import type { Dice } from "@holdfast/app-kit/dice";
import { LockHeldError, type LockOptions, type Redlock, WaitTimeoutError } from "@holdfast/core";
import { type Hold, holdOf, pause } from "./visit.ts";

/** A call for a lock. */
export interface Call {
  readonly redlock: Redlock;
  readonly resources: readonly string[];
  readonly options: LockOptions;
  /** A call that may give up does so within this time, in milliseconds. */
  readonly patienceMaxMs: number;
  readonly dice: Dice;
}

/** The ways to ask for a lock. They resolve with null if the lock is denied, or if the call gives up. */
export const ways = {
  acquire: ({ redlock, resources, options }) => redlock.acquire(resources, options),
  using: acquireByUsing,
  tryAcquire: ({ redlock, resources }) => redlock.tryAcquire(resources),
  "time-out": ({ redlock, resources, options, dice, patienceMaxMs }) =>
    redlock.acquire(resources, { ...options, waitTimeoutMs: dice.integer(0, patienceMaxMs) }).catch(nullIfGivenUp),
  abort: acquireUntilAborted,
} satisfies Record<string, (call: Call) => Promise<Hold | null>>;

/** All ways. */
export const hows = Object.keys(ways) as (keyof typeof ways)[];

/** Acquires a lock by `using()`, whose routine ends when the lock is released. */
function acquireByUsing({ redlock, resources, options }: Call): Promise<Hold> {
  return new Promise((resolve, reject) => {
    const used = redlock.using(resources, options, (lock) => {
      return new Promise<void>((end) => {
        const release = (): Promise<void> => {
          end();
          return used;
        };
        resolve(holdOf(lock, release));
      });
    });
    used.catch(reject);
  });
}

const changedMind = new Error("the client has changed its mind");

/** The signal aborts at a random moment: before the call waits, while it waits, or when it has its lock. */
async function acquireUntilAborted({ redlock, resources, options, dice, patienceMaxMs }: Call): Promise<Hold | null> {
  const mind = new AbortController();
  const lock = redlock.acquire(resources, { ...options, signal: mind.signal }).catch(nullIfGivenUp);
  lock.catch(() => {}); // until it is awaited
  for (let turns = dice.integer(0, 12); turns > 0; turns--) await null;
  await pause(dice.integer(0, patienceMaxMs));
  mind.abort(changedMind);
  return lock;
}

function nullIfGivenUp(error: unknown): null {
  if (error === changedMind || error instanceof WaitTimeoutError || error instanceof LockHeldError) return null;
  throw error;
}

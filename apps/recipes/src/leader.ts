/**
 * Elects a leader among several processes, which works only while it leads.
 *
 * A leader that is cut off from the lock servers must stop before another one starts, and no server can tell it. It relies on
 * its own clock: it starts a step only if the lock will outlast it. A step that is paused midway can still write late, and is
 * refused by a storage that is shown the token with every write.
 */
import type { Redlock } from "@holdfast/core";
import { StaleFenceError } from "./fenced-values.ts";

/**
 * Does one piece of the leader's work, in at most `stepMs`.
 *
 * @param fence the token of this term. Show it to the storage with every access
 * @param over aborts when the term ends, or the process must stop
 */
export type Step = (fence: number, over: AbortSignal) => Promise<void>;

export interface LeaderOptions {
  /** Aborts when the process must stop. */
  readonly stop: AbortSignal;
  /** How long a step may take, in milliseconds: well below the ttl. */
  readonly stepMs: number;
}

/**
 * Waits to lead, does one step after another while it leads, and starts again when its term has ended. When `stop` aborts,
 * releases the role, so that the next process leads at once, and resolves.
 *
 * @throws the errors of a step, unless its term has ended
 */
export async function lead(redlock: Redlock, role: string, { stop, stepMs }: LeaderOptions, step: Step): Promise<void> {
  while (!stop.aborted) {
    let over = stop;
    try {
      await redlock.using(role, { waitTimeoutMs: Infinity, signal: stop }, async (lock) => {
        over = AbortSignal.any([stop, lock.signal]);
        while (!over.aborted) {
          // The lock is extended automatically. If little time is left, the extensions have failed so far.
          if (lock.remainingMs() < stepMs) await lock.extend();
          if (over.aborted) break;
          await step(lock.fence, over);
        }
      });
    } catch (error) {
      const isTermOver = over.aborted || error instanceof StaleFenceError;
      if (!isTermOver) throw error;
    }
  }
}

/**
 * Of several processes one leads, and works only while it leads.
 *
 * A leader that is cut off from the lock servers must stop before another one begins, and nobody can tell it to. It goes by
 * its own clock: no step begins unless the lock will outlast it. What that cannot prevent, a step that is paused on its
 * way, is refused by a storage that is shown the token with every write.
 */
import type { Redlock } from "@holdfast/core";
import { StaleFenceError } from "./fenced-values.ts";

/**
 * One piece of the leader's work, no longer than `stepMs`.
 *
 * @param fence the token of this term: to be shown to the storage with every access
 * @param over aborts when the term has ended, or the process is to stop
 */
export type Step = (fence: number, over: AbortSignal) => Promise<void>;

export interface LeaderOptions {
  /** Aborts when the process is to stop. */
  readonly stop: AbortSignal;
  /** How long a step may take, in milliseconds: well below the ttl. */
  readonly stepMs: number;
}

/**
 * Waits to lead, does one step after another for as long as it does, and starts again when its term has ended. Resolves
 * when it was told to stop, with the role released, so that the next one leads at once.
 *
 * @throws what a step throws other than because its term has ended
 */
export async function lead(redlock: Redlock, role: string, { stop, stepMs }: LeaderOptions, step: Step): Promise<void> {
  while (!stop.aborted) {
    let over = stop;
    try {
      await redlock.using(role, { waitTimeoutMs: Infinity, signal: stop }, async (lock) => {
        over = AbortSignal.any([stop, lock.signal]);
        while (!over.aborted) {
          // The lock is extended by itself. Where little is left, that has not worked so far.
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

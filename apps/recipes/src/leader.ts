/**
 * Elects a leader among several processes, which works only while it leads.
 *
 * A leader that is cut off from the lock servers must stop before another one starts, and no server can tell it. It relies on
 * its own clock: it starts a step only if its term will outlast it. A step that is paused midway can still write late, and is
 * refused by a storage that is shown the number of the term with every write.
 */
import type { Election } from "@holdfast/core/election";
import { StaleFenceError } from "@holdfast/ioredis";

/**
 * Does one piece of the leader's work, in at most `stepMs`.
 *
 * @param fence the number of this term. Show it to the storage with every access
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
 * Waits to lead, does one step after another while it leads, and stands for election again when its term has ended. When
 * `stop` aborts, finishes the step, resigns, so that the next process leads at once, and resolves.
 *
 * @throws the errors of a step, unless its term has ended
 */
export async function lead(role: Election, { stop, stepMs }: LeaderOptions, step: Step): Promise<void> {
  for await (const term of role.campaign({ signal: stop })) {
    try {
      while (!term.signal.aborted) {
        // A term is extended automatically. If little time is left, the extensions have failed so far.
        if (term.remainingMs() < stepMs) await term.extend();
        await step(term.fence, term.signal);
      }
    } catch (error) {
      const isTermOver = term.signal.aborted || error instanceof StaleFenceError;
      if (!isTermOver) throw error;
    }
  }
}

import type { HoldfastError, Lock, LockOptions, Redlock } from "@holdfast/core";
import { onAbort, Pause } from "../pause.ts";
import type { ElectionObserver } from "./observer.ts";
import { HeldTerm, type Term } from "./term.ts";

/** The state that all campaigns of one election share. */
export interface ElectionContext {
  readonly redlock: Redlock;
  readonly name: string;
  readonly lockOptions: LockOptions;
  /** Never throws. */
  readonly observer: ElectionObserver;
  /** The terms of this process that have begun and whose loops have not continued yet. */
  readonly terms: Set<HeldTerm>;
}

/**
 * How long a leader that resigned lets others lead before it stands for election again, in milliseconds: more than the
 * longest delay after which a process that no node notifies tries again.
 */
const pauseAfterResignMs = 1_000;

/** The upper limits of the delays after a failed attempt to stand for election, in milliseconds: the first, and any. */
const retryMs = { first: 100, max: 5_000 } as const;

/** The codes of the errors that may pass. */
const passing: readonly string[] = ["QUEUE_FULL", "QUORUM_UNREACHABLE", "LOCK_HELD", "WAIT_TIMEOUT"];

/** Yields the terms that this process wins, until the signal aborts. */
export async function* campaign(context: ElectionContext, stop: AbortSignal): AsyncGenerator<Term, void, undefined> {
  while (!stop.aborted) {
    const lock = await elected(context, stop);
    if (lock === undefined) return;
    const term = begin(context, lock);
    const ignoreStop = onAbort(stop, () => term.stop());
    try {
      if (term.ended === undefined) yield term;
    } finally {
      ignoreStop();
      await term.resign().catch(() => {}); // too few nodes replied: the lock ends with its ttl
      context.terms.delete(term);
    }
    const stepsBack = term.ended?.reason === "resigned" || term.ended?.reason === "max-hold";
    if (stepsBack) await new Pause(context.redlock.clock).wait(pauseAfterResignMs, stop);
  }
}

function begin({ redlock: { clock }, name, observer, terms }: ElectionContext, lock: Lock): HeldTerm {
  const { owner, fence } = lock;
  const beganMs = clock.monotonicMs();
  const term = new HeldTerm(lock, clock, (error) => {
    observer.termEnded?.({ name, owner, fence, ledMs: clock.monotonicMs() - beganMs, error });
  });
  terms.add(term);
  return term;
}

/**
 * Waits for the lock of the next term. Returns undefined if the signal aborts first.
 *
 * @throws {ConfigurationError | RedlockClosedError | TypeError | RangeError} as `acquire` does: trying again cannot help
 */
async function elected(context: ElectionContext, stop: AbortSignal): Promise<Lock | undefined> {
  const { redlock, name, lockOptions, observer } = context;
  const { clock } = redlock;
  const sinceMs = clock.monotonicMs();
  for (let failures = 1; !stop.aborted; failures++) {
    try {
      const lock = await redlock.acquire(name, { ...lockOptions, signal: stop });
      const { owner, fence } = lock;
      // A stop or a loss at this moment ends the lock before it becomes a term.
      if (!stop.aborted && lock.remainingMs() > 0) {
        observer.elected?.({ name, owner, fence, waitedMs: clock.monotonicMs() - sinceMs });
        return lock;
      }
      await lock.release().catch(() => {});
    } catch (error) {
      if (stop.aborted) return undefined;
      if (!passing.includes((error as HoldfastError | undefined)?.code ?? "")) throw error;
      const limitMs = Math.min(retryMs.max, retryMs.first * 2 ** Math.min(failures - 1, 30));
      const retryInMs = limitMs * (0.5 + Math.random() / 2);
      observer.campaignFailed?.({ name, error, retryInMs });
      await new Pause(clock).wait(retryInMs, stop);
    }
  }
  return undefined;
}

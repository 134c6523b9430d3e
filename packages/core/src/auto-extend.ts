import type { Clock } from "./clock.ts";
import { driftMs } from "./validity.ts";

/** What automatic extension needs of a lock. */
export interface Extendable {
  remainingMs(): number;
  /** How long the lock has been held, in milliseconds. */
  heldMs(): number;
  /** Extends for this ttl, trying again until the validity ends; rejects when the lock is lost or released. */
  extendFor(ttlMs: number): Promise<void>;
}

/** How long, and how far, to extend. */
export interface AutoExtendTerms {
  readonly ttlMs: number;
  readonly driftFactor: number;
  readonly maxHoldMs: number;
}

/**
 * Extends a lock each time half of its validity has passed: early enough for several more tries when nodes do not
 * answer. The last extension is cut so that the lock ends with `maxHoldMs`; `onLimit` is called when none is left.
 *
 * @returns a function that stops it
 */
export function startAutoExtend(
  lock: Extendable,
  clock: Clock,
  { ttlMs, driftFactor, maxHoldMs }: AutoExtendTerms,
  onLimit: () => void,
): () => void {
  let stopped = false;
  let cancelTimer = (): void => {};

  const schedule = (): void => {
    if (!stopped) cancelTimer = clock.startTimer(lock.remainingMs() / 2, extend, { background: true });
  };
  const extend = (): void => {
    const nextTtlMs = Math.min(ttlMs, Math.floor(maxHoldMs - lock.heldMs()));
    if (nextTtlMs - driftMs(nextTtlMs, driftFactor) <= lock.remainingMs()) onLimit();
    else lock.extendFor(nextTtlMs).then(schedule, stop);
  };
  const stop = (): void => {
    stopped = true;
    cancelTimer();
  };

  schedule();
  return stop;
}

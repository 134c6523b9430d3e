import type { Clock } from "./clock.ts";

/** A moment, read off both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Reads both clocks. */
export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * The time from one moment to another: the larger of what the two clocks say. A suspended machine stops the monotonic clock,
 * and an administrator or a time service can set the wall clock back; neither makes a lock look younger than it is (S3).
 */
export function elapsedMs(since: Moment, until: Moment): number {
  return Math.max(until.monotonicMs - since.monotonicMs, until.wallMs - since.wallMs);
}

/**
 * What is taken off the ttl because the clocks of client and nodes do not run at exactly the same rate, and a node
 * expires keys with a precision of a millisecond (distlock page, "Is the algorithm asynchronous?").
 */
export function driftMs(ttlMs: number, driftFactor: number): number {
  return ttlMs * driftFactor + 2;
}

/** What a ttl leaves to rely on, from the moment at which it began. */
export function validityMs(ttlMs: number, driftFactor: number): number {
  return ttlMs - driftMs(ttlMs, driftFactor);
}

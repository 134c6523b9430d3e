import type { Clock } from "./clock.ts";
import { driftMs, elapsedMs, type Moment } from "./validity.ts";

/** A ttl, and the moment from which it counts for the client: just before the requests that set it were sent. */
export interface Term {
  readonly startedAt: Moment;
  readonly ttlMs: number;
}

/**
 * How often the validity is looked at, at the least: a machine that was suspended has timers that know nothing of it,
 * but its wall clock tells (S3).
 */
const longestBlindMs = 1000;

/** How long a lock may be relied on, and the timer that tells when that ends (S7). */
export class Lease {
  readonly #clock: Clock;
  readonly #driftFactor: number;
  readonly #onEnd: () => void;
  #term: Term;
  #cancelTimer = (): void => {};

  /**
   * @param clock what measures it
   * @param driftFactor see `LockOptions`
   * @param term what it begins with
   * @param onEnd is called when it ends, unless it is renewed or stopped before
   */
  constructor(clock: Clock, driftFactor: number, term: Term, onEnd: () => void) {
    this.#clock = clock;
    this.#driftFactor = driftFactor;
    this.#term = term;
    this.#onEnd = onEnd;
    this.#watch();
  }

  /** What is left of the validity, in milliseconds; not positive once it has ended. */
  remainingMs(): number {
    return this.remainingOf(this.#term);
  }

  /** What would be left under another term. */
  remainingOf({ startedAt, ttlMs }: Term): number {
    return ttlMs - driftMs(ttlMs, this.#driftFactor) - elapsedMs(startedAt, this.#clock);
  }

  /** Goes by another term from now on. */
  renew(term: Term): void {
    this.#term = term;
    this.#watch();
  }

  /** Stops watching. */
  stop(): void {
    this.#cancelTimer();
  }

  /** Timers have whole milliseconds: what is left below one is given up rather than overrun. */
  #watch(): void {
    this.#cancelTimer();
    const remainingMs = this.remainingMs();
    const look = (): void => (this.remainingMs() < 1 ? this.#onEnd() : this.#watch());
    const delayMs = Math.min(longestBlindMs, Math.max(0, Math.floor(remainingMs)));
    this.#cancelTimer = this.#clock.startTimer(delayMs, look, { background: true });
  }
}

import type { Clock } from "./clock.ts";
import { driftMs, elapsedMs, type Moment, momentOf } from "./validity.ts";

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
  #alarm: { readonly leftMs: number; readonly ring: () => void } | undefined;
  #isStopped = false;
  #cancelTimer: (() => void) | undefined;

  /**
   * @param clock what measures it
   * @param driftFactor see `LockOptions`
   * @param term what it begins with
   * @param now read off that clock
   * @param onEnd is called when it ends, unless it is renewed or stopped before
   */
  constructor(clock: Clock, driftFactor: number, term: Term, now: Moment, onEnd: () => void) {
    this.#clock = clock;
    this.#driftFactor = driftFactor;
    this.#term = term;
    this.#onEnd = onEnd;
    this.#watch(now);
  }

  /** What is left of the validity, in milliseconds; not positive once it has ended. */
  remainingMs(now: Moment = momentOf(this.#clock)): number {
    return this.#leftMs(now) - driftMs(this.#term.ttlMs, this.#driftFactor);
  }

  /** What is left of the ttl, in whole milliseconds: for how long the nodes were asked to keep the claim, or more. */
  ttlLeftMs(): number {
    return Math.ceil(this.#leftMs(momentOf(this.#clock)));
  }

  /** Whether a term of this ttl that began now would make the validity end later. */
  wouldGain(ttlMs: number): boolean {
    return ttlMs - driftMs(ttlMs, this.#driftFactor) > this.remainingMs();
  }

  /** Goes by another term from now on. */
  renew(term: Term): void {
    this.#term = term;
    this.#watch();
  }

  /** Calls back once when no more than so much of the validity is left. Takes the place of an earlier call. */
  ringAt(leftMs: number, ring: () => void): void {
    this.#alarm = { leftMs, ring };
    this.#watch();
  }

  /** Stops watching, for good. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  #leftMs(now: Moment): number {
    return this.#term.ttlMs - elapsedMs(this.#term.startedAt, now);
  }

  /** Timers have whole milliseconds: what is left below one is given up rather than overrun. */
  #watch(now?: Moment): void {
    this.#cancelTimer?.();
    if (this.#isStopped) return;
    const remainingMs = Math.floor(this.remainingMs(now));
    const untilAlarmMs = remainingMs - (this.#alarm?.leftMs ?? 0);
    const delayMs = Math.max(0, Math.min(longestBlindMs, untilAlarmMs, remainingMs));
    this.#cancelTimer = this.#clock.startTimer(delayMs, () => this.#look(), { background: true });
  }

  #look(): void {
    const remainingMs = this.remainingMs();
    if (remainingMs < 1) {
      this.#onEnd();
      return;
    }
    const alarm = this.#alarm;
    const isDue = alarm !== undefined && remainingMs < alarm.leftMs + 1;
    if (isDue) this.#alarm = undefined;
    this.#watch();
    if (isDue) alarm.ring();
  }
}

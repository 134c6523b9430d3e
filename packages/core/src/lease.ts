import type { Clock } from "./clock.ts";

/** A moment, read off both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Reads both clocks. */
export function readClocks(clock: Clock): Moment {
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

/** A ttl, and the moment from which it counts for the client: just before the requests that set it were sent. */
export interface Term {
  readonly startedAt: Moment;
  readonly ttlMs: number;
}

/**
 * How often the lease looks at the clocks, at the least: after a machine was suspended, timers know nothing of it, but the
 * wall clock does (S3).
 */
const longestBlindMs = 1000;

/** How long a lock may be relied on, and the timer that ends it (S7). */
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
   * @param term the first term
   * @param now read off that clock
   * @param onEnd called when the validity ends, unless it is renewed or stopped before
   */
  constructor(clock: Clock, driftFactor: number, term: Term, now: Moment, onEnd: () => void) {
    this.#clock = clock;
    this.#driftFactor = driftFactor;
    this.#term = term;
    this.#onEnd = onEnd;
    this.#watch(now);
  }

  /** What is left of the validity, in milliseconds; not positive once it has ended. */
  remainingMs(now: Moment = readClocks(this.#clock)): number {
    return this.#leftMs(now) - driftMs(this.#term.ttlMs, this.#driftFactor);
  }

  /** What is left of the ttl, in whole milliseconds: for how long the nodes were asked to keep the claim, or more. */
  ttlLeftMs(): number {
    return Math.ceil(this.#leftMs(readClocks(this.#clock)));
  }

  /** Whether a term of this ttl that began now would make the validity end later. */
  wouldGain(ttlMs: number): boolean {
    return validityMs(ttlMs, this.#driftFactor) > this.remainingMs();
  }

  /** Replaces the term. */
  renew(term: Term): void {
    this.#term = term;
    this.#watch();
  }

  /** Calls back once when no more than `leftMs` of the validity is left. Replaces any earlier alarm. */
  ringAt(leftMs: number, ring: () => void): void {
    this.#alarm = { leftMs, ring };
    this.#watch();
  }

  /** Stops the timer, for good. */
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

/** What automatic extension needs of a lock. */
export interface Extendable {
  /** See `LockOptions`. */
  readonly ttlMs: number;
  /** See `LockOptions`. */
  readonly maxHoldMs: number;
  /** How long the lock has been held, in milliseconds. */
  heldMs(): number;
  /**
   * Extends the lock by the ttl that `nextTtlMs` returns before each try, until a try succeeds, or it returns undefined as
   * there is nothing to gain. Rejects when the lock has ended.
   */
  extend(nextTtlMs: () => number | undefined): Promise<void>;
  /** Called when the lock has been extended as far as `maxHoldMs` allows. */
  onLimit(): void;
}

/**
 * Extends a lock each time half of its validity has passed: early enough for several more tries when nodes do not
 * answer. The last extension is cut so that the lock ends with `maxHoldMs`. Ends with the lease.
 */
export function autoExtend(lease: Lease, lock: Extendable): void {
  const { ttlMs, maxHoldMs } = lock;
  const nextTtlMs = (): number | undefined => {
    const nextMs = Math.min(ttlMs, Math.floor(maxHoldMs - lock.heldMs()));
    return lease.wouldGain(nextMs) ? nextMs : undefined;
  };
  const wait = (): void => lease.ringAt(lease.remainingMs() / 2, ring);
  const ring = (): void => {
    const nextMs = nextTtlMs();
    if (nextMs !== undefined) {
      const onExtended = nextMs < ttlMs ? () => lock.onLimit() : wait;
      lock.extend(nextTtlMs).then(onExtended, () => {});
    } else if (maxHoldMs - lock.heldMs() < ttlMs) lock.onLimit();
    else wait(); // it was extended by hand for longer
  };
  wait();
}

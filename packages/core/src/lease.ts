import type { Clock } from "./clock.ts";

/** A point in time on both clocks. */
export interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Reads both clocks. */
export function readClocks(clock: Clock): ClockReading {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * Returns the time between two moments: the larger of the differences on the two clocks. A suspended machine stops the
 * monotonic clock, and an administrator or a time service can set the wall clock back. Neither makes a lock look
 * younger than it is (S3).
 */
export function elapsedMs(since: ClockReading, until: ClockReading): number {
  return Math.max(until.monotonicMs - since.monotonicMs, until.wallMs - since.wallMs);
}

/**
 * Returns the allowance for clock drift, which is subtracted from the ttl: the clocks of client and nodes do not run at
 * exactly the same rate, and a node expires keys with millisecond precision (distlock page, "Is the algorithm
 * asynchronous?").
 */
export function driftMs(ttlMs: number, driftFactor: number): number {
  return ttlMs * driftFactor + 2;
}

/** Returns how long a lock with this ttl may be relied on from the start of its window. */
export function validityMs(ttlMs: number, driftFactor: number): number {
  return ttlMs - driftMs(ttlMs, driftFactor);
}

/** A ttl, and its start for the client: the moment just before the requests that set it were sent. */
export interface TtlWindow {
  readonly startedAt: ClockReading;
  readonly ttlMs: number;
}

/**
 * The maximum interval between two clock checks. Timers do not notice that the machine was suspended, but the wall
 * clock does (S3).
 */
const timerIntervalMaxMs = 1000;

/**
 * The part of the validity that must have been missed to explain why a lock was not extended: automatic extension has half of
 * it for its attempts.
 */
const missedPart = 1 / 4;

/** What kept this process from extending a lock, and for how long, in milliseconds. */
export interface Hindrance {
  readonly reason: "blocked" | "suspended";
  readonly ms: number;
}

/** The settings of a lock that a lease uses, see `Settings`. */
export interface LeaseSettings {
  readonly ttlMs: number;
  readonly driftFactor: number;
  readonly validityMs: number;
}

/** The current window of a lock, and the timer that ends it (S7). */
export class Lease {
  readonly #clock: Clock;
  readonly #driftFactor: number;
  readonly #onEnd: () => void;
  #window: TtlWindow;
  #validityMs: number;
  #alarm: { readonly leftMs: number; readonly ring: () => void } | undefined;
  #isStopped = false;
  #cancelTimer: (() => void) | undefined;
  /** When the timer should ring, on the monotonic clock, and by how much one was late that left little of the validity. */
  #dueMs = 0;
  #lateMs = 0;

  /**
   * @param clock measures the window
   * @param settings those of the lock
   * @param startedAt the start of the first window
   * @param now the current time on that clock
   * @param onEnd called when the validity ends, unless the lease is renewed or stopped before
   */
  constructor(clock: Clock, settings: LeaseSettings, startedAt: ClockReading, now: ClockReading, onEnd: () => void) {
    this.#clock = clock;
    this.#driftFactor = settings.driftFactor;
    this.#window = { startedAt, ttlMs: settings.ttlMs };
    this.#validityMs = settings.validityMs;
    this.#onEnd = onEnd;
    this.#watch(now);
  }

  /** Returns the remaining validity in milliseconds; zero or negative once it has ended. */
  remainingMs(now: ClockReading = readClocks(this.#clock)): number {
    return this.#validityMs - elapsedMs(this.#window.startedAt, now);
  }

  /** Returns the remaining ttl in whole milliseconds, rounded up: how long the nodes were asked to keep the claim. */
  ttlLeftMs(): number {
    return Math.ceil(this.#window.ttlMs - elapsedMs(this.#window.startedAt, readClocks(this.#clock)));
  }

  /** Whether a window with this ttl that starts now would end later than the current one. */
  wouldGain(ttlMs: number): boolean {
    return validityMs(ttlMs, this.#driftFactor) > this.remainingMs();
  }

  /** Replaces the window. */
  renew(window: TtlWindow): void {
    this.#window = window;
    this.#validityMs = validityMs(window.ttlMs, this.#driftFactor);
    this.#lateMs = 0;
    this.#watch();
  }

  /** Returns what kept this process from extending the lock in the window that has ended, if that shows. */
  hindrance(): Hindrance | undefined {
    const now = readClocks(this.#clock);
    const { monotonicMs, wallMs } = this.#window.startedAt;
    const passedMs = now.monotonicMs - monotonicMs;
    const leastMs = this.#validityMs * missedPart;
    const asleepMs = now.wallMs - wallMs - passedMs;
    if (passedMs < this.#validityMs - 1 && asleepMs >= leastMs) return { reason: "suspended", ms: asleepMs };
    const ms = Math.max(this.#lateMs, now.monotonicMs - this.#dueMs);
    return ms < leastMs ? undefined : { reason: "blocked", ms };
  }

  /** Calls `ring` once when at most `leftMs` of the validity is left. Replaces any earlier alarm. */
  ringAt(leftMs: number, ring: () => void): void {
    this.#alarm = { leftMs, ring };
    this.#watch();
  }

  /** Stops the timer permanently. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  /** Restarts the timer. Rounds down to whole milliseconds, so that the lease ends early rather than late. */
  #watch(now: ClockReading = readClocks(this.#clock)): void {
    this.#cancelTimer?.();
    if (this.#isStopped) return;
    const remainingMs = Math.floor(this.remainingMs(now));
    const untilAlarmMs = remainingMs - (this.#alarm?.leftMs ?? 0);
    const delayMs = Math.max(0, Math.min(timerIntervalMaxMs, untilAlarmMs, remainingMs));
    this.#dueMs = now.monotonicMs + delayMs;
    this.#cancelTimer = this.#clock.startTimer(delayMs, () => this.#look(), { background: true });
  }

  #look(): void {
    const now = readClocks(this.#clock);
    const remainingMs = this.remainingMs(now);
    if (remainingMs < this.#validityMs * missedPart)
      this.#lateMs = Math.max(this.#lateMs, now.monotonicMs - this.#dueMs);
    if (remainingMs < 1) {
      this.#onEnd();
      return;
    }
    const alarm = this.#alarm;
    const isDue = alarm !== undefined && remainingMs < alarm.leftMs + 1;
    if (isDue) this.#alarm = undefined;
    this.#watch(now);
    if (isDue) alarm.ring();
  }
}

import type { Clock } from "./clock.ts";

/** The limits of the delays between attempts. */
export interface RetryDelays {
  /** The most that the first delay can be, in milliseconds; each further one can be twice as long. */
  readonly retryDelayMs: number;
  /** The most that any delay can be, in milliseconds. */
  readonly retryDelayMaxMs: number;
}

/**
 * A random delay before the next attempt: full jitter under a limit that doubles, so that rivals that split the vote
 * drift apart (distlock page, "Retry on Failure"). Never zero: a failing attempt must not spin.
 *
 * @param failures how many attempts have failed, at least 1
 * @param retryAfterMs when the claim in the way ends, if the nodes say so: waiting longer is of no use
 */
export function retryDelay(delays: RetryDelays, failures: number, retryAfterMs?: number): number {
  const limitMs = Math.min(delays.retryDelayMaxMs, delays.retryDelayMs * 2 ** Math.min(failures - 1, 30));
  const delayMs = Math.max(1, Math.random() * limitMs);
  if (retryAfterMs === undefined || retryAfterMs >= delayMs) return delayMs;
  return retryAfterMs + Math.max(1, Math.random() * delays.retryDelayMs);
}

/** A wait that can be cut short. At most one caller waits at a time. */
export class Pause {
  readonly #clock: Clock;
  #end: (() => void) | undefined;

  /** @param clock what measures the wait */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a caller waits. */
  get isWaiting(): boolean {
    return this.#end !== undefined;
  }

  /** Resolves after `delayMs`, or earlier by `wake` or when the signal aborts, which has not aborted yet. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#end = undefined;
        cancelTimer();
        stopListening?.();
        resolve();
      };
      const cancelTimer = this.#clock.startTimer(delayMs, end);
      const stopListening = signal && onAbort(signal, end);
      this.#end = end;
    });
  }

  /** Ends the wait that is under way, if any. */
  wake(): void {
    this.#end?.();
  }
}

const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts, unless the function that is returned was called before. However many callers wait
 * for a signal, core adds one listener to it: runtimes warn of a leak at more than ten.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const listeners = listenersOf.get(signal) ?? new Set();
  if (listeners.size === 0) {
    listenersOf.set(signal, listeners);
    signal.addEventListener("abort", notifyAll);
  }
  listeners.add(listener);
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) signal.removeEventListener("abort", notifyAll);
  };
}

function notifyAll(this: AbortSignal): void {
  for (const listener of listenersOf.get(this) ?? []) listener();
}

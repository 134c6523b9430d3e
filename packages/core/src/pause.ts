import type { Clock } from "./clock.ts";

/** The limits of the delays between attempts. */
export interface RetryDelays {
  /** The upper limit of the first delay, in milliseconds. It doubles with each failure. */
  readonly retryDelayMs: number;
  /** The upper limit of any delay, in milliseconds. */
  readonly retryDelayMaxMs: number;
}

/**
 * Returns a random back-off before the next attempt: full jitter below a limit that doubles, so that clients that split
 * the vote drift apart (distlock page, "Retry on Failure"). Never zero, so that failing attempts do not spin.
 *
 * @param delays the limits
 * @param failures the number of failed attempts, at least 1
 * @param retryAfterMs when the blocking claim expires, if the nodes know: waiting much longer is pointless
 */
export function retryDelay(delays: RetryDelays, failures: number, retryAfterMs?: number): number {
  const limitMs = Math.min(delays.retryDelayMaxMs, delays.retryDelayMs * 2 ** Math.min(failures - 1, 30));
  const delayMs = Math.max(1, Math.random() * limitMs);
  if (retryAfterMs === undefined || retryAfterMs >= delayMs) return delayMs;
  return retryAfterMs + Math.max(1, Math.random() * delays.retryDelayMs);
}

/** A wait that can end early. At most one caller waits at a time. */
export class Pause {
  readonly #clock: Clock;
  #end: (() => void) | undefined;

  /** @param clock measures the wait */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a caller waits. */
  get isWaiting(): boolean {
    return this.#end !== undefined;
  }

  /** Resolves after `delayMs`, or earlier on `wake()` or once one of the signals has aborted. */
  wait(delayMs: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    if (signals.some((signal) => signal?.aborted)) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#end = undefined;
        cancelTimer();
        for (const stopListening of listening) stopListening?.();
        resolve();
      };
      const cancelTimer = this.#clock.startTimer(delayMs, end);
      const listening = signals.map((signal) => signal && onAbort(signal, end));
      this.#end = end;
    });
  }

  /** Ends the current wait, if any. */
  wake(): void {
    this.#end?.();
  }
}

interface Listener {
  readonly notify: () => void;
  /** The position in the list of its signal; -1 once it is removed. */
  position: number;
}

// Lists, not Sets, see `OpenCalls`.
const listenersOf = new WeakMap<AbortSignal, Listener[]>();

/**
 * Calls `notify` when the signal aborts, or now if it has aborted. Returns a function that removes the listener. Core adds
 * a single event listener to each signal, however many callers wait for it: runtimes warn of a leak beyond ten.
 */
export function onAbort(signal: AbortSignal, notify: () => void): () => void {
  if (signal.aborted) {
    notify();
    return () => {};
  }
  const listeners = listenersOf.get(signal) ?? [];
  if (listeners.length === 0) {
    listenersOf.set(signal, listeners);
    signal.addEventListener("abort", notifyAll);
  }
  const listener = { notify, position: listeners.length };
  listeners.push(listener);
  return () => {
    const { position } = listener;
    if (position < 0) return;
    listener.position = -1;
    const last = listeners.pop() as Listener;
    if (last !== listener) {
      listeners[position] = last;
      last.position = position;
    } else if (position === 0) signal.removeEventListener("abort", notifyAll);
  };
}

function notifyAll(this: AbortSignal): void {
  for (const listener of [...(listenersOf.get(this) ?? [])]) {
    if (listener.position >= 0) listener.notify();
  }
}

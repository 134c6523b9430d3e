import type { Clock } from "@holdfast/core";

/** Resolves after `delayMs`, or as soon as the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      cancelTimer();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancelTimer = clock.startTimer(delayMs, end);
    signal.addEventListener("abort", end);
  });
}

/**
 * Returns an iterator that ends when the signal aborts. Its `return` method also ends a step in progress, for which that
 * of a generator would wait.
 *
 * @param run returns the generator, and is given a signal that aborts in both cases
 */
export function stoppable<T>(
  signal: AbortSignal | undefined,
  run: (stop: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncIterableIterator<T> {
  const stop = new AbortController();
  const steps = (async function* () {
    const stopListening = signal && onAbort(signal, () => stop.abort());
    try {
      yield* run(stop.signal);
    } finally {
      stopListening?.();
    }
  })();
  return {
    next: () => steps.next(),
    return() {
      stop.abort();
      return steps.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener` when the signal aborts, or immediately if it has aborted. Returns a function that removes the
 * listener. A signal gets one event listener however many elections use it: runtimes warn of a leak beyond ten.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
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

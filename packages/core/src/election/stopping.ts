import { onAbort } from "../pause.ts";

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

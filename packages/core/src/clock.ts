/** Time as core sees it. Replaced in tests and simulations; everything else uses {@link systemClock}. */
export interface Clock {
  /** Milliseconds on a clock that never goes back. It may stand still while the machine is suspended. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch on the machine's adjustable clock. */
  wallMs(): number;
  /**
   * Calls back once, about `delayMs` from now. A background timer does not keep the process alive.
   *
   * @returns a function that cancels the timer; harmless once it has fired
   */
  startTimer(delayMs: number, callback: () => void, options?: { readonly background?: boolean }): () => void;
  /**
   * Calls back after input that had already reached this process had a chance to be handled. Timers run before
   * sockets are read, so after a stall of the event loop a timer alone cannot tell a late reply from one that has been
   * waiting to be read.
   */
  afterPendingIo(callback: () => void): void;
}

/** Longer delays overflow the 32 bits that timers have, and would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

/** The clock of this process: `performance.now()`, `Date.now()` and `setTimeout`. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  startTimer(delayMs, callback, options) {
    const timer: unknown = setTimeout(callback, Math.min(delayMs, longestTimerMs));
    if (options?.background) (timer as { unref?: () => void }).unref?.();
    return () => clearTimeout(timer as number);
  },
  afterPendingIo(callback) {
    // Node, Bun and Deno run immediates right after the poll for input. Elsewhere, a task queued by a timer runs after
    // the tasks that are queued already.
    const { setImmediate = setTimeout } = globalThis as { setImmediate?: (callback: () => void) => unknown };
    setImmediate(callback);
  },
};

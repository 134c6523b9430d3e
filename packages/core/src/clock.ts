/** The clocks and timers that core uses: {@link systemClock} unless a test or simulation replaces it. */
export interface Clock {
  /** Returns milliseconds on a clock that never goes back. It may stand still while the machine is suspended. */
  monotonicMs(): number;
  /** Returns milliseconds since the Unix epoch on the machine's adjustable clock. */
  wallMs(): number;
  /**
   * Calls `callback` once, about `delayMs` from now. A background timer does not keep the process alive.
   *
   * @returns a function that cancels the timer, and does nothing once it has fired
   */
  startTimer(delayMs: number, callback: () => void, options?: { readonly background?: boolean }): () => void;
  /**
   * Calls `callback` after input that has already reached this process had a chance to be handled. Timers run before
   * sockets are read, so after the event loop has stalled, a timer alone cannot tell a late reply from one that is
   * waiting to be read.
   */
  afterPendingIo(callback: () => void): void;
}

/**
 * The longest delay of a timer, in milliseconds: a longer one overflows its 32 bits, and fires immediately.
 */
export const timerMaxMs: number = 2 ** 31 - 1;

const { setImmediate = setTimeout } = globalThis as { setImmediate?: (callback: () => void) => unknown };

/** The clock of this process: `performance.now()`, `Date.now()` and `setTimeout()`. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  startTimer(delayMs, callback, options) {
    const timer: unknown = setTimeout(callback, Math.min(delayMs, timerMaxMs));
    if (options?.background) (timer as { unref?: () => void }).unref?.();
    return () => clearTimeout(timer as number);
  },
  // Node, Bun and Deno run immediates right after polling for input. Elsewhere, a new task runs after those that are
  // already queued. Taken when this module loads: users' tests that replace timers often replace this one, too, and
  // `close()` would wait until they run it.
  afterPendingIo: setImmediate.bind(globalThis),
};

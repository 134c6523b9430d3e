/** The timeouts that the code of one file has started. */
export interface FileTimers {
  /** How many it has started. */
  started: number;
  /** Those that have neither ended nor been cancelled. */
  readonly pending: Set<unknown>;
}

/**
 * Records the timeouts of a file, until the fake timers that must be in use are replaced. Connections that earlier tests of
 * this process have left behind may start others.
 *
 * @param file the end of its path
 */
export function timersOf(file: string): FileTimers {
  const timers: FileTimers = { started: 0, pending: new Set() };
  const { setTimeout: start, clearTimeout: cancel } = globalThis;
  const recording = (act: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = start(() => {
      timers.pending.delete(timer);
      act(...args);
    }, ms);
    if (new Error().stack?.includes(`${file}:`)) {
      timers.started += 1;
      timers.pending.add(timer);
    }
    return timer;
  };
  const cancelling = (timer: NodeJS.Timeout | undefined) => {
    timers.pending.delete(timer);
    cancel(timer);
  };
  // Fake timers find out by properties of their functions how to put back the real ones.
  globalThis.setTimeout = Object.assign(recording, start);
  globalThis.clearTimeout = Object.assign(cancelling, cancel);
  return timers;
}

import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";

/** The timeouts that the code of one file has started. */
export interface FileTimers {
  /** How many it has started. */
  started: number;
  /** Those that have neither ended nor been cancelled. */
  readonly pending: Set<unknown>;
}

/**
 * Records the timeouts that a file starts on behalf of the test that calls this, until the fake timers that must be in use
 * are replaced. Connections that earlier tests of this process have left behind may start others.
 *
 * @param file the end of its path
 */
export function timersOf(file: string): FileTimers {
  const timers: FileTimers = { started: 0, pending: new Set() };
  const isOfTest = new AsyncLocalStorage<boolean>();
  isOfTest.enterWith(true);
  const { setTimeout: start, clearTimeout: cancel, setImmediate: startImmediate } = globalThis;
  // Fake timers run every callback on behalf of the test that lets time pass. Real ones keep its context.
  const recording = (act: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const ended = AsyncResource.bind(() => {
      timers.pending.delete(timer);
      act(...args);
    });
    const timer = start(ended, ms);
    if (isOfTest.getStore() && new Error().stack?.includes(`${file}:`)) {
      timers.started += 1;
      timers.pending.add(timer);
    }
    return timer;
  };
  const cancelling = (timer: NodeJS.Timeout | undefined) => {
    timers.pending.delete(timer);
    cancel(timer);
  };
  const immediate = (act: (...args: unknown[]) => void, ...args: unknown[]) =>
    startImmediate(AsyncResource.bind(() => act(...args)));
  // Fake timers find out by properties of their functions how to put back the real ones.
  globalThis.setTimeout = Object.assign(recording, start);
  globalThis.clearTimeout = Object.assign(cancelling, cancel);
  globalThis.setImmediate = Object.assign(immediate, startImmediate);
  return timers;
}

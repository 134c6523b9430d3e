import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { DemoEvent, Emit } from "./events.ts";

/** The stream of events, from the workers and the scenario to all subscribers. */
export interface Feed {
  /** Emits an event of this process, with the current time. */
  readonly emit: Emit;
  /** Passes on an event of another process. */
  readonly pass: (event: DemoEvent) => void;
  subscribe(listener: (event: DemoEvent) => void): void;
  /** Resolves at the next event that matches, or when the signal aborts. */
  next(matches: (event: DemoEvent) => boolean, signal: AbortSignal): Promise<void>;
}

/** Makes an empty feed. */
export function createFeed(): Feed {
  const listeners = new Set<(event: DemoEvent) => void>();
  const pass = (event: DemoEvent): void => {
    for (const listener of listeners) listener(event);
  };
  return {
    emit: (happening) => pass({ ...happening, atMs: monotonicMs() }),
    pass,
    subscribe: (listener) => void listeners.add(listener),
    next(matches, signal) {
      return new Promise((resolve) => {
        const end = (): void => {
          signal.removeEventListener("abort", end);
          listeners.delete(listen);
          resolve();
        };
        const listen = (event: DemoEvent): void => {
          if (matches(event)) end();
        };
        signal.addEventListener("abort", end);
        listeners.add(listen);
        if (signal.aborted) end();
      });
    },
  };
}

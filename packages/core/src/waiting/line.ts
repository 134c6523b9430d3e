import type { Place } from "./place.ts";
import type { Rivals } from "./rivals.ts";

/** One resource, as this process knows it. */
export class Line {
  readonly resource: string;
  /** The lock of this process on it. */
  holder: Place | undefined;
  /** Those who wait for it, in the order in which they came. */
  readonly waiters: Place[] = [];
  /** The other processes that want it, if there seem to be any. */
  rivals: Rivals | undefined;
  /** How many stand in it, waiting or holding. */
  places = 0;
  /** Keeps it from being forgotten. */
  keep: (() => void) | undefined;

  /** @param resource its name */
  constructor(resource: string) {
    this.resource = resource;
  }

  /**
   * Tells those who may try in how long they are due.
   *
   * @param from which of them is the first whom it matters to
   */
  wake(delayMs: (waiter: Place) => number, from = 0): void {
    for (const waiter of this.waiters.slice(from)) {
      if (waiter.isFirst()) waiter.yieldFor(delayMs(waiter));
      if (waiter.resources.length === 1) break; // all behind it want this resource, too
    }
  }
}

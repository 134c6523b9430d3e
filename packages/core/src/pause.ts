import type { Clock } from "./clock.ts";

/** A wait that can be cut short. At most one caller waits at a time. */
export class Pause {
  readonly #clock: Clock;
  #end: (() => void) | undefined;

  /** @param clock what measures the wait */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits so long, or until it is cut short by `wake` or by the signal. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#end = undefined;
        cancelTimer();
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const cancelTimer = this.#clock.startTimer(delayMs, end);
      signal?.addEventListener("abort", end);
      this.#end = end;
      if (signal?.aborted) end();
    });
  }

  /** Ends the wait that is under way, if any. */
  wake(): void {
    this.#end?.();
  }
}

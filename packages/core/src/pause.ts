import type { Clock } from "./clock.ts";
import { onAbort } from "./on-abort.ts";

/** A wait that can be cut short. At most one caller waits at a time. */
export class Pause {
  readonly #clock: Clock;
  #end: (() => void) | undefined;

  /** @param clock what measures the wait */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether somebody waits. */
  get isWaiting(): boolean {
    return this.#end !== undefined;
  }

  /** Waits so long, or until it is cut short by `wake` or by the signal. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#end = undefined;
        cancelTimer();
        stopListening();
        resolve();
      };
      const cancelTimer = this.#clock.startTimer(delayMs, end);
      const stopListening = onAbort(signal, end);
      this.#end = end;
      if (signal?.aborted) end();
    });
  }

  /** Ends the wait that is under way, if any. */
  wake(): void {
    this.#end?.();
  }
}

import type { Clock } from "./clock.ts";
import { Pause } from "./pause.ts";

/** Counts the requests and releases of a `Redlock` that are under way, for its end. */
export class RequestsInFlight {
  readonly #clock: Clock;
  #count = 0;
  #pause: Pause | undefined;

  /** @param clock what measures the wait for the end */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** So many have begun. */
  begin(count: number): void {
    this.#count += count;
  }

  /** One has ended, and has begun what follows from it. */
  readonly end = (): void => {
    this.#count -= 1;
    if (this.#count === 0) this.#pause?.wake();
  };

  /** Waits until none is under way, and nothing has followed from the last one, or for `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    const endMs = this.#clock.monotonicMs() + timeoutMs;
    for (;;) {
      await new Promise<void>((resolve) => this.#clock.afterPendingIo(resolve));
      const leftMs = endMs - this.#clock.monotonicMs();
      if (this.#count === 0 || leftMs <= 0) return;
      this.#pause = new Pause(this.#clock);
      await this.#pause.wait(leftMs);
    }
  }
}

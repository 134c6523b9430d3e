import type { Clock } from "../clock.ts";
import { Pause } from "../pause.ts";

/** How a task waits for a permit. */
export interface PermitWait {
  /** When the task gives up, on the monotonic clock. */
  readonly untilMs: number;
  /** Makes the task give up when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the task goes ahead of all tasks that are not urgent. */
  readonly isUrgent?: boolean;
}

/**
 * Limits how many tasks of one `Redlock` are in flight. Sending a thousand requests at once can take longer than the
 * node timeout, so that all of them time out, and all retries as well.
 */
export class ConcurrencyLimit {
  readonly #clock: Clock;
  readonly #permits: number;
  #inFlight = 0;
  readonly #urgent = new Set<Pause>();
  readonly #ordinary = new Set<Pause>();

  /**
   * @param clock measures waits
   * @param permits the maximum number of tasks in flight
   */
  constructor(clock: Clock, permits: number) {
    this.#clock = clock;
    this.#permits = permits;
  }

  /** The number of tasks in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether the next task must wait for a permit. */
  get isSaturated(): boolean {
    return this.#inFlight >= this.#permits;
  }

  /**
   * Runs the task as soon as a permit is free, first come, first served. The permit is returned when the task settles.
   * The task must not throw synchronously.
   *
   * @returns the result of the task, or undefined if it gave up waiting and did not run
   */
  run<T>(task: () => Promise<T>, wait: PermitWait): Promise<T | undefined> {
    if (this.isSaturated) return this.#runLater(task, wait);
    this.#inFlight += 1;
    return this.#runNow(task);
  }

  #runNow<T>(task: () => Promise<T>): Promise<T> {
    const running = task();
    running.then(this.#returnPermit, this.#returnPermit);
    return running;
  }

  async #runLater<T>(task: () => Promise<T>, { untilMs, signal, isUrgent }: PermitWait): Promise<T | undefined> {
    const waiting = isUrgent ? this.#urgent : this.#ordinary;
    const pause = new Pause(this.#clock);
    waiting.add(pause);
    await pause.wait(untilMs - this.#clock.monotonicMs(), signal);
    const hasPermit = !waiting.delete(pause);
    return hasPermit ? this.#runNow(task) : undefined;
  }

  /** Makes all waiting tasks give up, except urgent ones: their `run` resolves with undefined. */
  dismiss(): void {
    for (const pause of this.#ordinary) pause.wake();
  }

  /** Passes the permit directly to the next waiting task, so that no other task can take it. */
  readonly #returnPermit = (): void => {
    for (const waiting of [this.#urgent, this.#ordinary]) {
      for (const pause of waiting) {
        if (!pause.isWaiting) continue; // it has just given up
        waiting.delete(pause);
        pause.wake();
        return;
      }
    }
    this.#inFlight -= 1;
  };
}

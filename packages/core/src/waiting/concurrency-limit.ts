import type { Clock } from "../clock.ts";
import { Pause } from "../pause.ts";

/** How a task waits for its permit. */
export interface PermitWait {
  /** When it gives up, on the monotonic clock. */
  readonly untilMs: number;
  /** Makes it give up when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Whether it goes ahead of all that are not urgent. */
  readonly isUrgent?: boolean;
}

/**
 * Limits how many tasks of one `Redlock` are in flight. A process that sends a thousand requests at once is busy with that for
 * longer than the nodes have to answer: all would time out, again and again.
 */
export class ConcurrencyLimit {
  readonly #clock: Clock;
  readonly #permits: number;
  #inFlight = 0;
  readonly #urgent = new Set<Pause>();
  readonly #ordinary = new Set<Pause>();

  /**
   * @param clock what measures waits
   * @param permits how many tasks may be in flight
   */
  constructor(clock: Clock, permits: number) {
    this.#clock = clock;
    this.#permits = permits;
  }

  /** How many tasks are in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether the next task has to wait for its permit. */
  get isSaturated(): boolean {
    return this.#inFlight >= this.#permits;
  }

  /**
   * Runs the task at once, or as soon as there is a permit, first come, first served. The permit returns when the task has
   * settled. A task must not throw: it rejects.
   *
   * @returns what the task resolves with; undefined if it gave up waiting and was not run
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

  /** Has tasks that wait for a permit give up, other than urgent ones: their `run` resolves with undefined. */
  dismiss(): void {
    for (const pause of this.#ordinary) pause.wake();
  }

  /** Passes the permit on, so that no task comes between. */
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

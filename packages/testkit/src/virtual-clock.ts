/** A callback that is due at a time, and can be cancelled. */
interface Task {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * An implementation of core's `Clock` whose time moves only when a test advances it. It behaves like an event loop: of the
 * callbacks due at the same time, timers run first, then deliveries (`deliver`, which stands for input from a socket), then
 * those of `afterPendingIo`. It is the clock of one process, advanced by hand and with real promises; `World` of
 * packages/simulation runs many processes, each with its own clock, pauses and crashes, to the end of a scenario.
 */
export class VirtualClock {
  /** Called after each step of any clock, with its monotonic time: throws if a rule is broken. */
  static afterEachStep: (nowMs: number) => void = () => {};
  #monotonicMs = 0;
  #wallMs: number;
  #order = 0;
  readonly #timers = new Set<Task>();
  readonly #deliveries = new Set<Task>();
  #afterIo: (() => void)[] = [];

  /** @param wallMs initial time of the wall clock, in Unix milliseconds; default: 2026-01-01 */
  constructor(wallMs: number = Date.UTC(2026, 0, 1)) {
    this.#wallMs = wallMs;
  }

  readonly monotonicMs = (): number => this.#monotonicMs;

  readonly wallMs = (): number => this.#wallMs;

  readonly startTimer = (delayMs: number, callback: () => void): (() => void) =>
    this.#add(this.#timers, delayMs, callback);

  readonly afterPendingIo = (callback: () => void): void => {
    this.#afterIo.push(callback);
  };

  /** Schedules the arrival of a message. It runs after the timers that are due at the same time. */
  deliver(delayMs: number, callback: () => void): void {
    this.#add(this.#deliveries, delayMs, callback);
  }

  /** The number of pending timers. If it is not 0 once all operations have settled, one of them leaks. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Advances both clocks, running each callback at the time when it is due. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    await settleMicrotasks();
    // Callbacks of `afterPendingIo` run before time passes, including those that they add.
    do await this.#turn();
    while (this.#afterIo.length > 0);
    for (;;) {
      const dueMs = Math.min(nextDueMs(this.#timers), nextDueMs(this.#deliveries));
      if (dueMs > endMs) break;
      this.#pass(Math.max(0, dueMs - this.#monotonicMs));
      do await this.#turn();
      while (this.#afterIo.length > 0);
    }
    this.#pass(endMs - this.#monotonicMs);
    await this.#turn();
  }

  /**
   * Advances both clocks while nothing runs, like a blocked event loop or a stopped process. Callbacks that became due run
   * afterwards: timers first, then deliveries.
   */
  async stall(ms: number): Promise<void> {
    await settleMicrotasks();
    this.#pass(ms);
    await this.#turn();
  }

  /** Suspends the machine: the wall clock advances, while the monotonic clock and all timers stand still. */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }

  /** Moves the wall clock forward, or back if negative. */
  stepWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Advances until the promise settles, and settles alike. Throws after `limitMs`. */
  async until<T>(promise: Promise<T>, limitMs = 120_000): Promise<T> {
    let settled = false;
    const mark = (): void => {
      settled = true;
    };
    promise.then(mark, mark);
    await this.advance(0);
    const endMs = this.#monotonicMs + limitMs;
    while (!settled) {
      const dueMs = Math.min(nextDueMs(this.#timers), nextDueMs(this.#deliveries));
      if (dueMs > endMs) throw new Error(`The promise did not settle within ${limitMs} virtual ms`);
      await this.advance(Math.max(0, dueMs - this.#monotonicMs));
    }
    return promise;
  }

  /** Runs one turn of the event loop, without advancing time. */
  async #turn(): Promise<void> {
    await this.#runDue(this.#timers);
    await this.#runDue(this.#deliveries);
    const afterIo = this.#afterIo;
    this.#afterIo = [];
    for (const callback of afterIo) await this.#step(callback);
  }

  async #runDue(tasks: Set<Task>): Promise<void> {
    const due = [...tasks].filter((task) => task.dueMs <= this.#monotonicMs);
    due.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
    for (const task of due) {
      if (tasks.delete(task)) await this.#step(task.run); // unless an earlier one has cancelled it
    }
  }

  async #step(run: () => void): Promise<void> {
    run();
    await settleMicrotasks();
    VirtualClock.afterEachStep(this.#monotonicMs);
  }

  #pass(ms: number): void {
    this.#monotonicMs += ms;
    this.#wallMs += ms;
  }

  #add(tasks: Set<Task>, delayMs: number, run: () => void): () => void {
    const task: Task = { dueMs: this.#monotonicMs + Math.max(0, delayMs), order: this.#order++, run };
    tasks.add(task);
    return () => {
      tasks.delete(task);
    };
  }
}

function nextDueMs(tasks: Set<Task>): number {
  let dueMs = Number.POSITIVE_INFINITY;
  for (const task of tasks) dueMs = Math.min(dueMs, task.dueMs);
  return dueMs;
}

/** Runs all promise reactions that are ready: a macrotask comes after all queued microtasks. */
function settleMicrotasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A cancellable callback that is due at a moment. */
interface Task {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Time that moves only when a test says so. It stands in for core's `Clock`, and runs like an event loop: when timers
 * and deliveries are due at the same moment, timers run first, then deliveries (`deliver`: what a socket would bring),
 * then what was asked for by `afterPendingIo`.
 */
export class VirtualClock {
  #monotonicMs = 0;
  #wallMs: number;
  #order = 0;
  readonly #timers = new Set<Task>();
  readonly #deliveries = new Set<Task>();
  #afterIo: (() => void)[] = [];

  /** @param wallMs what the wall clock shows at the start, in Unix milliseconds; 2026-01-01 unless told */
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

  /** Calls back after `delayMs`, as the arrival of a message would: after the timers of that moment. */
  deliver(delayMs: number, callback: () => void): void {
    this.#add(this.#deliveries, delayMs, callback);
  }

  /** Timers that are set: 0 once all operations have settled, or one of them leaks. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Moves both clocks on, running what becomes due on the way, each at its moment. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    await settleMicrotasks();
    // What was asked for by `afterPendingIo` comes before time passes, also when that asks for another turn.
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
   * Moves both clocks on while nothing runs, as when the event loop is blocked or the process stopped. What became due
   * meanwhile runs afterwards: timers first, then everything that has arrived.
   */
  async stall(ms: number): Promise<void> {
    await settleMicrotasks();
    this.#pass(ms);
    await this.#turn();
  }

  /** Suspends the machine: the wall clock goes on, the monotonic clock and with it all timers stand still. */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }

  /** Sets the wall clock forward (or back, if negative). */
  stepWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Advances until the promise settles, and answers as it does; at most `limitMs`, then it throws. */
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

  /** One turn of the event loop at the present moment. */
  async #turn(): Promise<void> {
    await this.#runDue(this.#timers);
    await this.#runDue(this.#deliveries);
    const afterIo = this.#afterIo;
    this.#afterIo = [];
    for (const callback of afterIo) {
      callback();
      await settleMicrotasks();
    }
  }

  async #runDue(tasks: Set<Task>): Promise<void> {
    const due = [...tasks].filter((task) => task.dueMs <= this.#monotonicMs);
    due.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
    for (const task of due) {
      if (!tasks.delete(task)) continue; // cancelled by an earlier one
      task.run();
      await settleMicrotasks();
    }
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

/** Lets all promise reactions that are ready run: macrotasks come after every microtask queued so far. */
function settleMicrotasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

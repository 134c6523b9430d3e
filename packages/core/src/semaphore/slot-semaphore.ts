import {
  type HoldfastError,
  type Lock,
  LockHeldError,
  type LockOptions,
  QuorumUnreachableError,
  type Redlock,
  RedlockClosedError,
  WaitTimeoutError,
} from "@holdfast/core";
import { assertOptions, checkInteger, checkType } from "@holdfast/core/node";
import { Pause } from "../pause.ts";
import { safeObserver } from "../safe-observer.ts";
import type { PermitOptions, Permits, Semaphore, SemaphoreOptions } from "./api.ts";
import { HeldPermits, type PermitsContext } from "./held-permits.ts";
import { SlotReleases } from "./slot-releases.ts";
import { type HeldSlot, Slots, triesMax } from "./slots.ts";

/** How many slots a call tries before it takes its turn. */
const firstTriesMax = 16;

/** How many calls of a semaphore in a row may succeed without taking their turn, and pass callers that wait. */
const passesMax = 16;

/** The default of `waitTimeoutMs`, as that of locks. */
const defaults = { waitTimeoutMs: 10_000 };

/** Slots and the turn are exclusive, whatever the `Redlock` has. */
const exclusive: LockOptions = { mode: "exclusive" };

/** The names of the options of a call. */
export const permitOptionNames: readonly string[] = Object.keys({
  ttlMs: true,
  waitTimeoutMs: true,
  signal: true,
  label: true,
  autoExtend: true,
  maxHoldMs: true,
  awaitRelease: true,
} satisfies Record<keyof PermitOptions, true>);

/** One call to acquire. */
interface Call {
  readonly wanted: number;
  /** The options of the locks, complete except for those that the `Redlock` has. */
  readonly options: LockOptions & typeof defaults;
  readonly startedAtMs: number;
  /** The slots that the call has won so far. */
  readonly held: HeldSlot[];
  /** Why the last slots could not be tried. */
  unreachable?: QuorumUnreachableError | undefined;
}

/**
 * The implementation of {@link Semaphore}.
 *
 * A call first tries some slots. If too few are free, it acquires the *turn*, a lock of its own: so it waits in line with
 * all other calls, of this process and of others, where core waits for any lock. Only the holder of the turn waits for
 * slots. It may therefore keep some while it waits for others: no two calls can block each other, and no call that wants
 * several permits is passed over for calls that want one.
 */
export class SlotSemaphore implements Semaphore {
  readonly name: string;
  readonly permits: number;
  readonly #redlock: Redlock;
  readonly #options: PermitOptions;
  readonly #slots: Slots;
  readonly #releases: SlotReleases;
  readonly #context: PermitsContext;
  /** How many calls wait for their turn, or have it. */
  #waiting = 0;
  /** How many calls in a row succeeded without taking their turn. */
  #passes = 0;

  /** Takes checked arguments. */
  constructor(redlock: Redlock, name: string, permits: number, { observer, ...options }: SemaphoreOptions) {
    this.name = name;
    this.permits = permits;
    this.#redlock = redlock;
    this.#options = options;
    this.#slots = new Slots(redlock, name, permits, (slot) => this.#releases.releasedHere(slot));
    this.#releases = new SlotReleases(redlock, this.#slots);
    this.#context = { name, slots: this.#slots, clock: redlock.clock, observer: safeObserver(observer) };
  }

  async acquire(count = 1, options: PermitOptions = {}): Promise<Permits> {
    return this.#acquire(this.#callOf(count, options));
  }

  async tryAcquire(count = 1, options: PermitOptions = {}): Promise<Permits | null> {
    try {
      return await this.#acquire(this.#callOf(count, options, { waitTimeoutMs: 0 }));
    } catch (error) {
      if (error instanceof LockHeldError) return null;
      throw error;
    }
  }

  async using<T>(...given: UsingArguments<T>): Promise<T> {
    const routine = given.at(-1) as Routine<T>;
    const [count = 1, options = {}] = given.slice(0, -1) as [count?: number, options?: PermitOptions];
    checkType("routine", "function", routine);
    const call = this.#callOf(count, options);
    const permits = await this.#acquire({ ...call, options: { autoExtend: true, ...call.options } });
    try {
      const result = await routine(permits);
      permits.signal.throwIfAborted();
      return result;
    } finally {
      await permits[Symbol.asyncDispose]();
    }
  }

  /** Checks the arguments of a call. The `Redlock` checks the values of the options. */
  #callOf(wanted: number, options: PermitOptions, implied: PermitOptions = {}): Call {
    checkInteger("count", wanted);
    if (wanted > this.permits) {
      throw new RangeError(`count must be at most the ${this.permits} permits of ${this.name}, not ${wanted}`);
    }
    assertOptions(options, permitOptionNames, "permits");
    const given = [defaults, this.#options, options, implied, exclusive].flatMap((layer) => Object.entries(layer));
    const merged = Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Call["options"];
    checkType("waitTimeoutMs", "number", merged.waitTimeoutMs);
    if (!(merged.waitTimeoutMs >= 0)) {
      throw new RangeError(`waitTimeoutMs must be at least 0, not ${merged.waitTimeoutMs}`);
    }
    return { wanted, options: merged, startedAtMs: this.#redlock.clock.monotonicMs(), held: [] };
  }

  async #acquire(call: Call): Promise<Permits> {
    const { name } = this;
    const { observer } = this.#context;
    try {
      await this.#fill(call);
      this.#assertOpen(call);
    } catch (error) {
      await this.#giveBack(call);
      observer.acquireFailed?.({ name, wanted: call.wanted, waitedMs: this.#elapsedMs(call), error });
      throw error;
    }
    const permits = new HeldPermits(this.#context, call.held);
    observer.acquired?.({ name, slots: permits.slots, waitedMs: this.#elapsedMs(call) });
    return permits;
  }

  /** Wins as many slots as the call wants, or throws. */
  async #fill(call: Call): Promise<void> {
    const { wanted, options } = call;
    const mayWait = options.waitTimeoutMs > 0;
    this.#assertOpen(call);
    if (!mayWait || (this.#waiting === 0 && this.#passes < passesMax)) {
      await this.#try(call, this.#slots.inOrder(), mayWait ? firstTriesMax + 2 * wanted : Infinity);
      await this.#keep(call);
      if (call.held.length === wanted) {
        if (mayWait) this.#passes += 1;
        return;
      }
      if (!mayWait) throw this.#tooFew(call, `${call.held.length} of ${this.permits} free`);
      await this.#giveBack(call); // only the holder of the turn keeps slots while it waits
    }
    this.#waiting += 1;
    this.#passes = 0;
    try {
      while (!(await this.#takeTurn(call)));
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Waits for the turn, and then for slots. Returns false if the turn was lost. */
  async #takeTurn(call: Call): Promise<boolean> {
    const turn = await this.#acquireTurn(call);
    const stopUsing = this.#releases.use();
    try {
      if (await this.#waitForSlots(call, turn)) return true;
      await this.#giveBack(call);
      return false;
    } finally {
      stopUsing();
      turn.release().catch(() => {});
    }
  }

  async #acquireTurn(call: Call): Promise<Lock> {
    const waitTimeoutMs = Math.max(0, call.options.waitTimeoutMs - this.#elapsedMs(call));
    const own = { autoExtend: true, maxHoldMs: Infinity, waitTimeoutMs };
    try {
      return await this.#redlock.acquire(`sem:${this.name}:turn`, { ...call.options, ...own });
    } catch (error) {
      if (!(error instanceof WaitTimeoutError || error instanceof LockHeldError)) throw error;
      throw this.#tooFew(call, "other calls wait as well, and it was not its turn", error.outcomes);
    }
  }

  /** Tries slots until the call has enough, when they are released and from time to time. */
  async #waitForSlots(call: Call, turn: Lock): Promise<boolean> {
    const { wanted, held, options } = call;
    const releases = this.#releases;
    let scan = this.#slots.inOrder();
    let hasMore = await this.#try(call, scan, Infinity);
    let dueAtMs = this.#elapsedMs(call) + this.#delayMs(call);
    for (;;) {
      await this.#keep(call, turn.signal);
      this.#assertOpen(call);
      if (held.length === wanted) return true;
      if (turn.remainingMs() === 0) return false;
      const elapsedMs = this.#elapsedMs(call);
      if (elapsedMs >= options.waitTimeoutMs) throw this.#tooFew(call, `${held.length} of ${this.permits} free`);
      releases.watch();
      const untilMs = Math.min(dueAtMs, options.waitTimeoutMs);
      await releases.wait(Math.max(1, untilMs - elapsedMs), [...this.#endOf(call), turn.signal]);
      await this.#try(call, this.#slots.idleOf(releases.takeReleased()), Infinity);
      if (held.length === wanted || this.#elapsedMs(call) < dueAtMs) continue;
      // A claim that expires is not announced, and not every slot is watched.
      if (!hasMore) scan = this.#slots.inOrder();
      hasMore = await this.#try(call, scan, triesMax);
      dueAtMs = this.#elapsedMs(call) + this.#delayMs(call);
    }
  }

  /** Tries slots. Returns whether there are more to try. */
  async #try(call: Call, order: Iterator<number>, triesLeft: number): Promise<boolean> {
    call.unreachable = undefined;
    try {
      return await this.#slots.take(order, triesLeft, call.wanted, call.held, call.options);
    } catch (error) {
      if (!(error instanceof QuorumUnreachableError) || call.options.waitTimeoutMs === 0) throw error;
      call.unreachable = error;
      return false;
    }
  }

  /**
   * Keeps the slots that a call has won before the last ones, whether or not it wants automatic extension, and drops
   * those that are lost. An extension can take as long as the slot lasts: it does not outlast the call, or its turn.
   */
  async #keep(call: Call, turnSignal?: AbortSignal): Promise<void> {
    const { held, wanted, options } = call;
    const isComplete = held.length === wanted;
    const stale = held.filter(({ lock, validityMs }) => lock.remainingMs() <= validityMs * (isComplete ? 0.9 : 0.5));
    if (stale.length > 0) {
      const pause = new Pause(this.#redlock.clock);
      void Promise.all(stale.map(({ lock }) => lock.extend().catch(() => {}))).then(() => pause.wake());
      const leftMs = options.waitTimeoutMs > 0 ? Math.max(0, options.waitTimeoutMs - this.#elapsedMs(call)) : Infinity;
      await pause.wait(leftMs, ...this.#endOf(call), turnSignal);
    }
    for (const [index, { slot, lock }] of [...held.entries()].reverse()) {
      if (lock.remainingMs() > 0) continue;
      held.splice(index, 1);
      this.#slots.left(slot);
    }
  }

  /** The signals that end a call. */
  #endOf({ options }: Call): readonly (AbortSignal | undefined)[] {
    return [options.signal, this.#redlock.closed];
  }

  /** Throws when one of the signals that end a call has aborted: no request may follow that would reject. */
  #assertOpen({ wanted, options }: Call): void {
    options.signal?.throwIfAborted();
    if (!this.#redlock.closed.aborted) return;
    throw new RedlockClosedError(`${this.#failed(wanted)}: the Redlock is closed`, [`sem:${this.name}`]);
  }

  async #giveBack({ held }: Call): Promise<void> {
    await Promise.all(held.splice(0).map((slot) => this.#slots.release(slot)));
  }

  /** Returns a random delay before the slots are tried again, and extended if the call holds some. */
  #delayMs({ held }: Call): number {
    const { retryDelayMs, retryDelayMaxMs } = this.#redlock.retryDelays;
    const limitMs = this.#releases.isWatching ? retryDelayMaxMs : Math.min(retryDelayMaxMs, 4 * retryDelayMs);
    const keepMs = held.map(({ lock, validityMs }) => lock.remainingMs() - validityMs / 2);
    return Math.max(1, Math.min(Math.random() * limitMs, ...keepMs));
  }

  /** Creates the error for a call that ends without its permits. */
  #tooFew(call: Call, state: string, outcomes: LockHeldError["outcomes"] = []): HoldfastError {
    if (call.unreachable !== undefined) return call.unreachable;
    const { wanted } = call;
    const { waitTimeoutMs } = call.options;
    const effort = waitTimeoutMs === 0 ? "" : ` within ${waitTimeoutMs} ms`;
    const message = `${this.#failed(wanted)}${effort}: ${state}`;
    const resources = [`sem:${this.name}`];
    if (waitTimeoutMs === 0) return new LockHeldError(message, resources, outcomes);
    return new WaitTimeoutError(message, resources, outcomes);
  }

  #failed(wanted: number): string {
    return `could not acquire ${wanted} ${wanted === 1 ? "permit" : "permits"} of ${this.name}`;
  }

  #elapsedMs({ startedAtMs }: Call): number {
    return this.#redlock.clock.monotonicMs() - startedAtMs;
  }
}

type Routine<T> = (permits: Permits) => T | PromiseLike<T>;

type UsingArguments<T> =
  | [routine: Routine<T>]
  | [count: number, routine: Routine<T>]
  | [count: number, options: PermitOptions, routine: Routine<T>];

import {
  type HoldfastError,
  type LockOptions as HoldOptions,
  LockHeldError,
  QuorumUnreachableError,
  systemClock,
  WaitTimeoutError,
} from "@holdfast/core";
import { checkType } from "@holdfast/core/node";
import { type Permits, semaphore } from "@holdfast/core/semaphore";
import type { IoredisClient } from "@holdfast/ioredis";
import {
  type CompleteOptions,
  completeOptions,
  type LockOptions,
  LostLockError,
  TimeoutError,
} from "./key-lock-options.ts";
import { redlockOver } from "./nodes.ts";

/** A lock or permits of core. */
type Held = Pick<Permits, "signal" | "remainingMs" | "extend" | "release"> & {
  readonly owner?: string;
  readonly fence?: number;
  readonly slots?: Permits["slots"];
};

/** What the errors name. */
type Kind = `${"redlock-" | ""}${"mutex" | "semaphore" | "multi-semaphore"}`;

/**
 * What all classes of `redis-semaphore` have in common: an object for one key, which is acquired, or not.
 *
 * @example
 * ```ts
 * import { type KeyLock, Mutex } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * async function alone(lock: KeyLock, routine: () => Promise<void>) {
 *   await lock.acquire();
 *   try {
 *     await routine();
 *   } finally {
 *     await lock.release();
 *   }
 * }
 * await alone(new Mutex(new Redis(), "invoice:42"), async () => console.log("alone with it"));
 * ```
 */
export abstract class KeyLock {
  readonly #kind: Kind;
  readonly #key: string;
  readonly #acquire: (options: HoldOptions) => Promise<Held>;
  readonly #options: CompleteOptions;
  #held: Held | undefined;
  /** The one that is held, or the last one. */
  #last: Held | undefined;
  #cancelRefresh: (() => void) | undefined;

  /** For the classes of this module. */
  constructor(
    kind: Kind,
    clients: readonly IoredisClient[],
    key: string,
    options: LockOptions,
    counts?: { readonly limit: number; readonly permits: number },
  ) {
    checkType("key", "string", key);
    if (!Array.isArray(clients)) throw new TypeError("clients must be an array");
    this.#kind = kind;
    this.#options = completeOptions(options, counts !== undefined);
    const { keyPrefix, retryInterval } = this.#options;
    if (counts === undefined) {
      this.#key = `mutex:${key}`;
      const redlock = redlockOver(clients, `${keyPrefix}mutex:`, retryInterval);
      this.#acquire = (own) => redlock.acquire(key, own);
    } else {
      this.#key = `semaphore:${key}`;
      const all = semaphore(redlockOver(clients, `${keyPrefix}lock:`, retryInterval), key, counts.limit);
      this.#acquire = (own) => all.acquire(counts.permits, own);
    }
  }

  /** Whether the lock is held, and still valid. */
  get isAcquired(): boolean {
    return this.#held !== undefined && this.#held.remainingMs() > 0;
  }

  /**
   * The random value of the key, of the lock that is held or was held last: that of the first permit of a semaphore.
   *
   * @throws {Error} before the first lock: each has a value of its own
   */
  get identifier(): string {
    const owner = this.#last?.owner ?? this.#last?.slots?.[0]?.owner;
    if (owner === undefined) throw new Error("there is no identifier before the first lock: each has one of its own");
    return owner;
  }

  /** The fencing token of a mutex that is held: larger than that of every earlier lock on the key. */
  get fence(): number | undefined {
    return this.#held?.fence;
  }

  /** The slots of a semaphore that are held, each with its fencing token. */
  get slots(): Permits["slots"] | undefined {
    return this.#held?.slots;
  }

  /**
   * Acquires the lock. Waits in line with the other objects of this process for up to `acquireTimeout`.
   *
   * @param abortSignal ends the wait when it aborts
   * @throws {TimeoutError} when others held it for all of that time; over several servers, also when too few replied
   * @throws {HoldfastError} over one server, when it did not reply, and when retrying cannot help
   * @throws the reason of the signal
   *
   * @example
   * ```ts
   * import { Mutex } from "@holdfast/compat/redis-semaphore";
   * import { Redis } from "ioredis";
   *
   * const mutex = new Mutex(new Redis(), "invoice:42");
   * await mutex.acquire(AbortSignal.timeout(2_000));
   * await mutex.release();
   * ```
   */
  async acquire(abortSignal?: AbortSignal): Promise<void> {
    const failure = await this.#tryFor(abortSignal);
    if (failure) throw new TimeoutError(`Acquire ${this.#kind} ${this.#key} timeout`, { cause: failure });
  }

  /**
   * Acquires the lock, and resolves with false where `acquire` throws a {@link TimeoutError}.
   *
   * @param abortSignal ends the wait when it aborts
   * @throws as {@link KeyLock.acquire} does, except for a `TimeoutError`
   *
   * @example
   * ```ts
   * import { Mutex } from "@holdfast/compat/redis-semaphore";
   * import { Redis } from "ioredis";
   *
   * const mutex = new Mutex(new Redis(), "nightly-report", { acquireAttemptsLimit: 1 });
   * if (await mutex.tryAcquire()) await mutex.release();
   * ```
   */
  async tryAcquire(abortSignal?: AbortSignal): Promise<boolean> {
    return (await this.#tryFor(abortSignal)) === undefined;
  }

  /**
   * Stops refreshing. The lock then expires, and `onLockLost` is not called.
   *
   * @example
   * ```ts
   * import { Mutex } from "@holdfast/compat/redis-semaphore";
   * import { Redis } from "ioredis";
   *
   * const mutex = new Mutex(new Redis(), "invoice:42");
   * await mutex.acquire();
   * mutex.stopRefresh(); // nobody else gets it within the next ten seconds
   * ```
   */
  stopRefresh(): void {
    this.#cancelRefresh?.();
    this.#cancelRefresh = undefined;
  }

  /**
   * Releases the lock. Has no effect if it is not held. A call that failed can be repeated.
   *
   * @throws {HoldfastError} over one server, when it did not reply
   *
   * @example
   * ```ts
   * import { Mutex } from "@holdfast/compat/redis-semaphore";
   * import { Redis } from "ioredis";
   *
   * const mutex = new Mutex(new Redis(), "invoice:42");
   * await mutex.acquire();
   * await mutex.release();
   * ```
   */
  async release(): Promise<void> {
    this.stopRefresh();
    const held = this.#held;
    try {
      await held?.release();
      if (this.#held === held) this.#held = undefined;
    } catch (error) {
      if (!this.#isOverSeveral) throw error;
    }
  }

  get #isOverSeveral(): boolean {
    return this.#kind.startsWith("redlock");
  }

  /** Acquires the lock, or returns why it was not acquired in time. */
  async #tryFor(signal: AbortSignal | undefined): Promise<HoldfastError | undefined> {
    const { lockTimeout, acquireTimeout, acquireAttemptsLimit, retryInterval } = this.#options;
    const waitTimeoutMs = Math.min(acquireTimeout, (acquireAttemptsLimit - 1) * Math.max(1, retryInterval));
    try {
      const held = await this.#acquire({ ttlMs: lockTimeout, waitTimeoutMs, ...(signal && { signal }) });
      this.stopRefresh();
      this.#held = held;
      this.#last = held;
      if (this.#options.refreshInterval > 0) this.#startRefresh(held);
      return undefined;
    } catch (error) {
      const isHeld = error instanceof LockHeldError || error instanceof WaitTimeoutError;
      if (isHeld || (this.#isOverSeveral && error instanceof QuorumUnreachableError)) return error;
      throw error;
    }
  }

  #startRefresh(held: Held): void {
    const wait = (): void => {
      const { refreshInterval } = this.#options;
      this.#cancelRefresh = systemClock.startTimer(refreshInterval, () => void refresh(), { background: true });
    };
    const refresh = async (): Promise<void> => {
      await held.extend().catch(() => {}); // the signal reports a loss
      if (this.#held === held && this.#cancelRefresh !== undefined) wait();
    };
    wait();
    const tell = async (): Promise<void> => {
      if (this.#held !== held || this.#cancelRefresh === undefined) return;
      this.stopRefresh();
      const error = new LostLockError(`Lost ${this.#kind} for key ${this.#key}`, { cause: held.signal.reason });
      this.#options.onLockLost.call(this, error);
    };
    if (held.signal.aborted) void tell();
    else held.signal.addEventListener("abort", () => void tell(), { once: true });
  }
}

/// <reference lib="esnext.disposable" preserve="true" />

import type { ExtendOptions, LockLostError, LockOptions } from "@holdfast/core";

/** How permits are acquired and kept. Options that are not given are those of the `Redlock`, if no default is stated. */
export interface PermitOptions extends Omit<LockOptions, "mode"> {
  /**
   * How long `acquire` and `using` wait for permits, in milliseconds. 0 looks once, `Infinity` never gives up. Default
   * 10 000, whatever the `Redlock` has.
   */
  readonly waitTimeoutMs?: number | undefined;
  /** Whether the permits are extended automatically. Default: true in `using`, that of the `Redlock` elsewhere. */
  readonly autoExtend?: boolean | undefined;
  /**
   * The maximum time for which automatic extension keeps a slot, in milliseconds. A call for several permits may hold
   * some of them while it waits for the others, and that time counts. Default `Infinity`.
   */
  readonly maxHoldMs?: number | undefined;
}

/** The options of a semaphore, which a call can override, and its observer. */
export interface SemaphoreOptions extends PermitOptions {
  /** Receives the events of the semaphore. The observer of the `Redlock` receives those of the slots' locks. */
  readonly observer?: SemaphoreObserver | undefined;
}

/** One of the slots of a semaphore, as its holder sees it. */
export interface Slot {
  /** The number of the slot, from 0 to one less than the permits of the semaphore. No two holders have the same. */
  readonly slot: number;
  /** The name of the slot's lock. */
  readonly resource: string;
  /**
   * The fencing token: larger than the token of every earlier holder of this slot. Tokens of different slots do not
   * compare: a storage must remember the largest one for each slot.
   */
  readonly fence: number;
  /** The random value that signs the slot's lock on the nodes, prefixed by the label if there is one. */
  readonly owner: string;
}

/** Acquired permits. They end when they are released, or when one of them is lost. */
export interface Permits extends AsyncDisposable {
  /** The name of the semaphore. */
  readonly name: string;
  /** The slots that are held, in ascending order: one for each permit. */
  readonly slots: readonly Slot[];
  /**
   * Aborts when any of the permits is lost, no later than the end of its validity, with the {@link LockLostError} of its
   * slot as the reason. The other permits stay held until they are released. Does not abort on release.
   */
  readonly signal: AbortSignal;
  /** Returns how long all the permits may be relied on from now, in milliseconds: 0 once one is lost or released. */
  remainingMs(): number;
  /**
   * Extends all the permits to `ttlMs` from now. One that already lasts longer is left unchanged.
   *
   * @throws {LockLostError} when the permits were released, or one is lost or turns out to be lost
   * @throws {ConfigurationError} when so many nodes report a configuration error that the rest is no quorum
   * @throws {TypeError | RangeError} for bad options
   *
   * @example
   * ```ts
   * import { semaphore } from "@holdfast/core/semaphore";
   *
   * const permits = await semaphore(redlock, "api", 5).acquire();
   * await permits.extend({ ttlMs: 30_000 });
   * console.log(permits.remainingMs() > 20_000);
   * await permits.release();
   * ```
   */
  extend(options?: ExtendOptions): Promise<void>;
  /**
   * Releases the permits, and resolves once a quorum of nodes has replied for each. Safe to repeat.
   *
   * @throws {QuorumUnreachableError} when too few nodes reply; permits that are still held then end with their ttl,
   *   unless another call of this method reaches the nodes first
   *
   * @example
   * ```ts
   * import { semaphore } from "@holdfast/core/semaphore";
   *
   * const permits = await semaphore(redlock, "api", 5).acquire(2);
   * await permits.release();
   * await permits.release(); // harmless
   * ```
   */
  release(): Promise<void>;
  /**
   * Releases the permits at the end of an `await using` block, and waits for the nodes unless `awaitRelease` is false.
   * Never throws: where nodes do not reply, permits end with their ttl.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** At most `permits` holders at a time, over all processes. Created by `semaphore()`. */
export interface Semaphore {
  /** The name of the semaphore. */
  readonly name: string;
  /** How many permits there are, for this process. */
  readonly permits: number;
  /**
   * Acquires `count` permits, 1 by default, all of them or none. Waits in turn up to `waitTimeoutMs`: a call that wants
   * several permits is not passed over for calls that want fewer.
   *
   * @throws {WaitTimeoutError} when too few permits were free for all of `waitTimeoutMs`
   * @throws {LockHeldError} when too few permits are free and `waitTimeoutMs` is 0
   * @throws {QuorumUnreachableError} when too few nodes replied
   * @throws {ConfigurationError} immediately, when a node reports a configuration error
   * @throws {QueueFullError} when `maxWaiters` calls of the `Redlock` are in progress
   * @throws {RedlockClosedError} when the `Redlock` is closed before or during the call
   * @throws {TypeError | RangeError} for bad arguments, such as more permits than there are
   * @throws the reason of `signal` when it aborts
   *
   * @example
   * ```ts
   * import { semaphore } from "@holdfast/core/semaphore";
   *
   * await using permits = await semaphore(redlock, "api", 5).acquire(2, { autoExtend: true });
   * for (const { slot, fence } of permits.slots) console.log(`slot ${slot} with fence ${fence}`);
   * ```
   */
  acquire(count?: number, options?: PermitOptions): Promise<Permits>;
  /**
   * Acquires `count` permits, 1 by default, if they are free. Tries every slot, but does not wait, and passes callers that
   * wait.
   *
   * @returns the permits, or null when too few are free
   * @throws the errors of {@link Semaphore.acquire}, except those of waiting
   *
   * @example
   * ```ts
   * import { semaphore } from "@holdfast/core/semaphore";
   *
   * const permits = await semaphore(redlock, "api", 5).tryAcquire();
   * if (permits === null) console.log("five others are at it");
   * else await permits.release();
   * ```
   */
  tryAcquire(count?: number, options?: PermitOptions): Promise<Permits | null>;
  /**
   * Runs a routine while it holds permits, extends them meanwhile, and releases them afterwards.
   *
   * @returns the result of the routine
   * @throws the error of the routine, or any error of {@link Semaphore.acquire}
   * @throws {LockLostError} when the routine succeeded, but a permit was lost before it ended
   *
   * @example
   * ```ts
   * import { semaphore } from "@holdfast/core/semaphore";
   *
   * const answer = await semaphore(redlock, "api", 5).using(async (permits) => {
   *   permits.signal.throwIfAborted(); // aborts as soon as a permit is lost
   *   return 42;
   * });
   * console.log(answer);
   * ```
   */
  using<T>(routine: (permits: Permits) => T | PromiseLike<T>): Promise<T>;
  /** Like `using(routine)`, with `count` permits. */
  using<T>(count: number, routine: (permits: Permits) => T | PromiseLike<T>): Promise<T>;
  /** Like `using(routine)`, with `count` permits and options. */
  using<T>(count: number, options: PermitOptions, routine: (permits: Permits) => T | PromiseLike<T>): Promise<T>;
}

/**
 * Callbacks for logs and metrics. Each is optional, is called synchronously, and cannot affect an operation: errors that
 * it throws or rejects with are ignored.
 *
 * @example
 * ```ts
 * import { semaphore } from "@holdfast/core/semaphore";
 *
 * const api = semaphore(redlock, "api", 5, {
 *   observer: { lost: ({ name, error }) => console.error(`lost a permit of ${name}`, error) },
 * });
 * await api.using(() => console.log("one of five"));
 * ```
 */
export interface SemaphoreObserver {
  /** Permits were acquired. */
  acquired?(event: PermitsAcquiredEvent): void;
  /** A call to acquire ended without permits. */
  acquireFailed?(event: PermitsFailedEvent): void;
  /** The holder released its permits. */
  released?(event: PermitsReleasedEvent): void;
  /** One of the permits was lost before the holder released them. Called once, for the first loss. */
  lost?(event: PermitsLostEvent): void;
}

/** The fields of every event of acquired permits. */
export interface PermitsEvent {
  /** The name of the semaphore. */
  readonly name: string;
  /** The slots. All events of the same permits carry the same array. */
  readonly slots: readonly Slot[];
}

/** See {@link SemaphoreObserver.acquired}. */
export interface PermitsAcquiredEvent extends PermitsEvent {
  /** The time from the call to the permits, in milliseconds. */
  readonly waitedMs: number;
}

/** See {@link SemaphoreObserver.acquireFailed}. */
export interface PermitsFailedEvent {
  /** The name of the semaphore. */
  readonly name: string;
  /** How many permits the call asked for. */
  readonly wanted: number;
  /** The time from the call to its end, in milliseconds. */
  readonly waitedMs: number;
  /**
   * The error that the call rejects with, or the reason of the caller's signal. When `tryAcquire` returns null, this is a
   * `LockHeldError`.
   */
  readonly error: unknown;
}

/** See {@link SemaphoreObserver.released}. */
export interface PermitsReleasedEvent extends PermitsEvent {
  /** How long the permits were held, in milliseconds. */
  readonly heldMs: number;
  /** Whether a quorum of nodes replied for each. If not, the remaining claims end with their ttl. */
  readonly confirmed: boolean;
}

/** See {@link SemaphoreObserver.lost}. */
export interface PermitsLostEvent extends PermitsEvent {
  /** How long the permits were held, in milliseconds. */
  readonly heldMs: number;
  /** Why the permit was lost. */
  readonly error: LockLostError;
}

/**
 * The API of `redlock` 5 over Holdfast. Locks have the same keys, so that processes with `redlock` 4 or 5 and these exclude
 * each other.
 */
import { EventEmitter } from "node:events";
import { type Lock as HeldLock, HoldfastError, systemClock } from "@holdfast/core";
import type { Client } from "./nodes.ts";
import {
  completeSettings,
  type ExecutionStats,
  expirationOf,
  extendHeld,
  heldBy,
  heldLocks,
  RetryingRedlock,
  type RetrySettings,
  releaseHeld,
  retryDefaults,
  settingsOfCall,
} from "./retries.ts";

export type { Client } from "./nodes.ts";
export { type ExecutionStats, ResourceLockedError, type RetrySettings } from "./retries.ts";

/** The settings of a `Redlock`. Calls can override those of retries and extension. */
export interface Settings extends RetrySettings {
  /** How much of a lock is left when `using` extends it, in milliseconds. Default 500. */
  readonly automaticExtensionThreshold: number;
}

const defaultSettings: Settings = { ...retryDefaults, automaticExtensionThreshold: 500 };

/** What a release resolves with. */
export interface ExecutionResult {
  /** Empty: core keeps no votes of a release that succeeds. */
  readonly attempts: readonly Promise<ExecutionStats>[];
  /** When the call began, in milliseconds since the Unix epoch. */
  readonly start: number;
}

/**
 * An operation that too few clients voted for. Its `cause` is the error of Holdfast, which says how each server replied.
 *
 * @example
 * ```ts
 * import { ExecutionError, Redlock } from "@holdfast/compat/redlock";
 * import { Redis } from "ioredis";
 *
 * const jobs = new Redlock([new Redis()], { retryCount: 0 });
 * await jobs.acquire(["invoice:42"], 10_000).catch((error) => {
 *   if (!(error instanceof ExecutionError)) throw error;
 *   console.error(error.cause);
 * });
 * await jobs.quit();
 * ```
 */
export class ExecutionError extends Error {
  override readonly name = "ExecutionError";
  /** The votes of each attempt: as many as were made. Each promise is settled. */
  readonly attempts: readonly Promise<ExecutionStats>[];

  /**
   * @param message what failed
   * @param attempts the votes of each attempt
   * @param options the cause
   */
  constructor(message: string, attempts: readonly Promise<ExecutionStats>[], options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}

/** The signal of a routine: its `error` says why it has aborted. */
export type RedlockAbortSignal = AbortSignal & { error?: Error };

/** The second argument of a routine. */
export interface RedlockUsingContext {
  /** The lock. Each extension replaces it. */
  lock: Lock;
  /** How often the lock was extended. */
  extensions: number;
}

/**
 * An acquired lock.
 *
 * @example
 * ```ts
 * import { Redlock } from "@holdfast/compat/redlock";
 * import { Redis } from "ioredis";
 *
 * const jobs = new Redlock([new Redis()]);
 * const lock = await jobs.acquire(["invoice:42"], 10_000);
 * console.log(lock.fence, lock.expiration - Date.now());
 * await lock.release();
 * await jobs.quit();
 * ```
 */
export class Lock {
  /** The `Redlock` that acquired it. */
  readonly redlock: Redlock;
  /** The locked resources, as they were passed. */
  readonly resources: string[];
  /** The random value of its keys. */
  readonly value: string;
  /** The votes of the attempts. Each promise is settled. */
  readonly attempts: readonly Promise<ExecutionStats>[];
  /** Until when the lock may be relied on, in milliseconds since the Unix epoch; 0 once it is released or replaced. */
  expiration: number;
  /** The fencing token, which `redlock` does not have: larger than that of every earlier lock on these resources. */
  readonly fence: number;

  /** For the `Redlock`: a lock that is made from the value of another cannot be extended or released. */
  constructor(
    redlock: Redlock,
    resources: string[],
    value: string,
    attempts: readonly Promise<ExecutionStats>[],
    expiration: number,
    fence: number,
  ) {
    this.redlock = redlock;
    this.resources = resources;
    this.value = value;
    this.attempts = attempts;
    this.expiration = expiration;
    this.fence = fence;
  }

  /** See {@link Redlock.release}. */
  release(): Promise<ExecutionResult> {
    return this.redlock.release(this);
  }

  /** See {@link Redlock.extend}. */
  extend(duration: number): Promise<Lock> {
    return this.redlock.extend(this, duration);
  }
}

/**
 * `Redlock` of `redlock` 5. It emits an `error` event for each client that fails, and a {@link ResourceLockedError} for each
 * that votes against an attempt before it is decided. It does not need a listener.
 *
 * Deliberate differences:
 *
 * - A lock whose validity has ended when it would be granted is not a lock, and the claims of a failed attempt are released
 *   at once, not after the last retry.
 * - A server that does not reply counts as failed after a second, or half of the duration if that is less.
 * - Two clients of one server, a replica, and resources in different slots of a Redis Cluster are refused.
 * - Settings and arguments are checked: an unknown setting, or custom scripts, throw a `TypeError`.
 */
export class Redlock extends EventEmitter {
  /** The clients, one for each server. */
  readonly clients: ReadonlySet<Client>;
  /** The settings, complete. */
  readonly settings: Settings;
  readonly #retrying: RetryingRedlock;

  /**
   * Creates a client of these servers. Sends nothing.
   *
   * @param clients clients of ioredis, one for each server or cluster
   * @param settings see {@link Settings}
   * @param scripts not supported: the scripts cannot be replaced
   * @throws {TypeError | RangeError} for bad clients or settings
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()], { retryCount: 3 });
   * jobs.on("error", (error) => console.error(error));
   * await jobs.quit();
   * ```
   */
  constructor(clients: Iterable<Client>, settings: Partial<Settings> = {}, scripts?: undefined) {
    super();
    if (scripts !== undefined) throw new TypeError("custom scripts are not supported: those of Holdfast are fixed");
    this.settings = completeSettings(settings, defaultSettings);
    this.on("error", () => {}); // without a listener, Node would throw
    const tell = (error: Error): void => void this.emit("error", error);
    this.#retrying = new RetryingRedlock(clients, this.settings, { denied: tell, failed: tell });
    this.clients = new Set(this.#retrying.clients);
  }

  /**
   * Acquires a lock. In the time between two attempts, waits in line with the other calls of this `Redlock`.
   *
   * @param resources the names to lock: these are the keys
   * @param duration how long the servers keep the lock, in whole milliseconds
   * @param settings override those of the `Redlock`, except `driftFactor`
   * @throws {ExecutionError} when too few clients voted for it in all attempts, or retrying cannot help
   * @throws {TypeError | RangeError} for bad arguments
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()]);
   * let lock = await jobs.acquire(["invoice:42"], 10_000, { retryCount: 3 });
   * lock = await lock.extend(10_000);
   * await lock.release();
   * await jobs.quit();
   * ```
   */
  async acquire(resources: string[], duration: number, settings?: Partial<Settings>): Promise<Lock> {
    assertDuration(duration);
    if (!Array.isArray(resources)) throw new TypeError("resources must be an array of strings");
    const acquisition = await this.#retrying.acquire(resources, duration, settingsOfCall(settings, this.settings));
    const attempts = acquisition.attempts.map((stats) => Promise.resolve(stats));
    if (acquisition.lock === undefined) throw new ExecutionError(noQuorum, attempts, { cause: acquisition.error });
    return this.#lockOver(acquisition.lock, resources, attempts);
  }

  /**
   * Releases a lock. Makes one attempt, because the keys expire in any case.
   *
   * @param lock a lock of this process
   * @throws {ExecutionError} when the lock was lost before, or too few clients replied
   * @throws {TypeError} for a lock that was made from its value
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()]);
   * const lock = await jobs.acquire(["invoice:42"], 10_000);
   * await jobs.release(lock);
   * await jobs.quit();
   * ```
   */
  async release(lock: Lock, settings?: undefined): Promise<ExecutionResult> {
    assertNoSettings("release", settings);
    const start = Date.now();
    await this.#orExecutionError(releaseHeld(lock));
    return { attempts: [], start };
  }

  /**
   * Extends a lock, and returns one that replaces it. Retries until the validity ends, whatever the settings, but not when
   * too few servers still hold the lock.
   *
   * @param existing a lock of this process
   * @param duration how long the servers keep the lock from now, in whole milliseconds
   * @throws {ExecutionError} when the lock was released or replaced, has expired, or too few clients voted for it
   * @throws {TypeError | RangeError} for bad arguments, such as a duration that would shorten the lock
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()]);
   * let lock = await jobs.acquire(["invoice:42"], 10_000);
   * lock = await jobs.extend(lock, 30_000);
   * await lock.release();
   * await jobs.quit();
   * ```
   */
  async extend(existing: Lock, duration: number, settings?: undefined): Promise<Lock> {
    assertDuration(duration);
    assertNoSettings("extend", settings);
    const held = heldBy(existing);
    if (existing.expiration < Date.now()) throw new ExecutionError("Cannot extend an already-expired lock.", []);
    return this.#extended(existing, held, duration);
  }

  /**
   * Runs a routine under a lock, extends the lock whenever `automaticExtensionThreshold` is left of it, and releases it
   * afterwards. An error of the routine is not replaced by one of the release.
   *
   * @param resources the names to lock
   * @param duration how long the servers keep the lock, in whole milliseconds: at least 100 more than the threshold
   * @param routine called with a signal that aborts when the lock is lost, no later than its validity ends, and with the
   *   lock
   * @returns the result of the routine
   * @throws {ExecutionError} when the lock was not acquired, or was lost although the routine succeeded
   * @throws the error of the routine
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()]);
   * await jobs.using(["invoice:42"], 10_000, async (signal, { lock }) => {
   *   if (signal.aborted) throw signal.error;
   *   console.log(`alone with invoice:42, fence ${lock.fence}`);
   * });
   * await jobs.quit();
   * ```
   */
  async using<T>(resources: string[], duration: number, routine: Routine<T>): Promise<T>;
  async using<T>(
    resources: string[],
    duration: number,
    settings: Partial<Settings> | undefined,
    routine: Routine<T>,
  ): Promise<T>;
  async using<T>(
    resources: string[],
    duration: number,
    settingsOrRoutine: Partial<Settings> | Routine<T> | undefined,
    ownRoutine?: Routine<T>,
  ): Promise<T> {
    assertDuration(duration);
    const [given, routine] =
      typeof settingsOrRoutine === "function" ? [undefined, settingsOrRoutine] : [settingsOrRoutine, ownRoutine];
    if (typeof routine !== "function") throw new TypeError("routine must be a function");
    const { automaticExtensionThreshold } = settingsOfCall(given, this.settings);
    if (automaticExtensionThreshold > duration - 100) {
      throw new RangeError(
        "A lock `duration` must be at least 100ms greater than the `automaticExtensionThreshold` setting.",
      );
    }
    const context = { lock: await this.acquire(resources, duration, given), extensions: 0 };
    const held = heldBy(context.lock);
    const signal = this.#signalOf(held);
    const stop = keepExtended(held, automaticExtensionThreshold, async () => {
      context.lock = await this.#extended(context.lock, held, duration);
      context.extensions += 1;
    });
    let result: T;
    try {
      result = await routine(signal, context);
    } catch (error) {
      stop();
      await context.lock.release().catch(() => {});
      throw error;
    }
    stop();
    await context.lock.release();
    return result;
  }

  /**
   * Rejects the calls that wait, and closes the clients.
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock";
   * import { Redis } from "ioredis";
   *
   * await new Redlock([new Redis()]).quit();
   * ```
   */
  quit(): Promise<void> {
    return this.#retrying.quit();
  }

  async #extended(existing: Lock, held: HeldLock, duration: number): Promise<Lock> {
    await this.#orExecutionError(extendHeld(held, duration, this.settings));
    existing.expiration = 0;
    return this.#lockOver(held, existing.resources, []);
  }

  #lockOver(held: HeldLock, resources: string[], attempts: readonly Promise<ExecutionStats>[]): Lock {
    const lock = new Lock(this, resources, held.owner, attempts, expirationOf(held), held.fence);
    heldLocks.set(lock, held);
    return lock;
  }

  #signalOf({ signal }: HeldLock): RedlockAbortSignal {
    const toldSignal: RedlockAbortSignal = signal;
    const tell = (): void => {
      toldSignal.error = this.#executionError(signal.reason);
    };
    if (signal.aborted) tell();
    else signal.addEventListener("abort", tell, { once: true });
    return toldSignal;
  }

  async #orExecutionError(operation: Promise<void>): Promise<void> {
    try {
      await operation;
    } catch (error) {
      throw error instanceof HoldfastError ? this.#executionError(error) : error;
    }
  }

  #executionError(cause: HoldfastError): ExecutionError {
    const { resources, outcomes } = cause;
    const attempts = outcomes.length > 0 ? [Promise.resolve(this.#retrying.statsOf(resources, outcomes))] : [];
    return new ExecutionError(noQuorum, attempts, { cause });
  }
}

export default Redlock;

/** The routine of `using`. */
type Routine<T> = (signal: RedlockAbortSignal, context: RedlockUsingContext) => T | PromiseLike<T>;

const noQuorum = "The operation was unable to achieve a quorum during its retry window.";

/** Extends a lock each time that `thresholdMs` is left of it, until the returned function is called. */
function keepExtended(held: HeldLock, thresholdMs: number, extend: () => Promise<void>): () => void {
  let isStopped = false;
  let cancelTimer: () => void;
  const extendIfDue = async (): Promise<void> => {
    // The routine may have extended the lock, too.
    if (held.remainingMs() <= thresholdMs) await extend();
    if (!isStopped) wait();
  };
  const wait = (): void => {
    const delayMs = Math.max(0, held.remainingMs() - thresholdMs);
    // The signal reports a failure.
    cancelTimer = systemClock.startTimer(delayMs, () => void extendIfDue().catch(() => {}));
  };
  wait();
  return () => {
    isStopped = true;
    cancelTimer();
  };
}

function assertDuration(duration: number): void {
  if (!Number.isInteger(duration)) throw new RangeError("Duration must be an integer value in milliseconds.");
}

function assertNoSettings(method: string, settings: unknown): void {
  if (settings !== undefined) throw new TypeError(`${method}() takes no settings: it does not count retries`);
}

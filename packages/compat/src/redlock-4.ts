/**
 * The API of `redlock` 4 over Holdfast, with promises. Locks have the same keys, so that processes with `redlock` 4 or 5 and
 * these exclude each other.
 */
import { EventEmitter } from "node:events";
import { HoldfastError } from "@holdfast/core";
import type { Client } from "./nodes.ts";
import {
  completeSettings,
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
export type { RetrySettings } from "./retries.ts";

/**
 * An operation that failed: the lock is held, has expired, or too few servers replied. Its `cause` is the error of Holdfast,
 * which says how each server replied.
 *
 * @example
 * ```ts
 * import { LockError, Redlock } from "@holdfast/compat/redlock-4";
 * import { Redis } from "ioredis";
 *
 * const jobs = new Redlock([new Redis()], { retryCount: 0 });
 * await jobs.lock("invoice:42", 10_000).catch((error) => {
 *   if (!(error instanceof LockError)) throw error;
 *   console.error(error.message);
 * });
 * await jobs.quit();
 * ```
 */
export class LockError extends Error {
  override readonly name = "LockError";
  /** How many attempts were made to lock. */
  readonly attempts: number | undefined;

  /**
   * @param message what failed
   * @param attempts how many attempts were made
   * @param options the cause
   */
  constructor(message: string, attempts?: number, options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}

/**
 * An acquired lock.
 *
 * @example
 * ```ts
 * import { Redlock } from "@holdfast/compat/redlock-4";
 * import { Redis } from "ioredis";
 *
 * const jobs = new Redlock([new Redis()]);
 * const lock = await jobs.lock("invoice:42", 10_000);
 * console.log(lock.fence, lock.expiration - Date.now());
 * await lock.unlock();
 * await jobs.quit();
 * ```
 */
export class Lock {
  /** The `Redlock` that acquired it. */
  readonly redlock: Redlock;
  /** The locked resources. */
  readonly resource: string[];
  /** The random value of its keys. */
  readonly value: string;
  /** Until when the lock may be relied on, in milliseconds since the Unix epoch; 0 once it is unlocked. */
  expiration: number;
  /** How many attempts were made. */
  readonly attempts: number;
  /** How many more would have been made. */
  readonly attemptsRemaining: number;
  /** The fencing token, which `redlock` does not have: larger than that of every earlier lock on these resources. */
  readonly fence: number;

  /** For the `Redlock`: a lock that is made from the value of another cannot be extended or unlocked. */
  constructor(
    redlock: Redlock,
    resource: string[],
    value: string,
    expiration: number,
    attempts: number,
    attemptsRemaining: number,
    fence: number,
  ) {
    this.redlock = redlock;
    this.resource = resource;
    this.value = value;
    this.expiration = expiration;
    this.attempts = attempts;
    this.attemptsRemaining = attemptsRemaining;
    this.fence = fence;
  }

  /** See {@link Redlock.unlock}. */
  unlock(...none: readonly never[]): Promise<void> {
    return this.redlock.unlock(this, ...none);
  }

  /** See {@link Redlock.extend}. */
  extend(ttl: number, ...none: readonly never[]): Promise<this> {
    return this.redlock.extend(this, ttl, ...none);
  }
}

/**
 * `Redlock` of `redlock` 4. It emits a `clientError` event for each client that fails. Deliberate differences from version
 * 4: it resolves when a majority of the servers has replied, it has no callbacks and no `disposer`, `lockWithOptions` honours
 * `retryCount: 0`, and all that the README of this package lists.
 */
export class Redlock extends EventEmitter {
  /** The class of its locks. */
  static readonly Lock: typeof Lock = Lock;
  /** The class of its errors. */
  static readonly LockError: typeof LockError = LockError;
  /** The clients, one for each server. */
  readonly servers: readonly Client[];
  /** See {@link RetrySettings}. */
  readonly settings: RetrySettings;
  readonly #retrying: RetryingRedlock;

  /**
   * Creates a client of these servers. Sends nothing.
   *
   * @param clients clients of ioredis, one for each server or cluster
   * @param options see {@link RetrySettings}
   * @throws {TypeError | RangeError} for bad clients or options, such as scripts
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock-4";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()], { retryCount: 3 });
   * jobs.on("clientError", (error) => console.error(error));
   * await jobs.quit();
   * ```
   */
  constructor(clients: readonly Client[], options: Partial<RetrySettings> = {}) {
    super();
    this.settings = completeSettings(options, retryDefaults);
    const failed = (error: Error): void => void this.emit("clientError", error);
    this.#retrying = new RetryingRedlock(clients, this.settings, { failed });
    this.servers = this.#retrying.clients;
  }

  /**
   * Acquires a lock. In the time between two attempts, waits in line with the other calls of this `Redlock`.
   *
   * @param resource the name to lock, or several: these are the keys
   * @param ttl how long the servers keep the lock, in milliseconds
   * @throws {LockError} when all attempts have failed, or retrying cannot help
   * @throws {TypeError | RangeError} for bad arguments, such as a callback
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock-4";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()]);
   * const lock = await jobs.lock("invoice:42", 10_000);
   * await lock.extend(10_000);
   * await lock.unlock();
   * await jobs.quit();
   * ```
   */
  lock(resource: string | readonly string[], ttl: number, ...none: readonly never[]): Promise<Lock> {
    return this.lockWithOptions(resource, ttl, {}, ...none);
  }

  /** See {@link Redlock.lock}. */
  acquire(resource: string | readonly string[], ttl: number, ...none: readonly never[]): Promise<Lock> {
    return this.lock(resource, ttl, ...none);
  }

  /**
   * Acquires a lock with options of its own.
   *
   * @param resource the name to lock, or several
   * @param ttl how long the servers keep the lock, in milliseconds
   * @param options override those of the `Redlock`, except `driftFactor`
   * @throws as {@link Redlock.lock} does
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock-4";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()]);
   * const lock = await jobs.lockWithOptions("invoice:42", 10_000, { retryCount: 0 });
   * await lock.unlock();
   * await jobs.quit();
   * ```
   */
  async lockWithOptions(
    resource: string | readonly string[],
    ttl: number,
    options: Partial<RetrySettings>,
    ...none: readonly never[]
  ): Promise<Lock> {
    assertNoCallback(none);
    if (typeof resource !== "string" && !Array.isArray(resource)) {
      throw new TypeError("resource must be a string or an array of strings");
    }
    const resources = typeof resource === "string" ? [resource] : [...resource];
    const settings = settingsOfCall(options, this.settings);
    const { lock: held, error, attempts } = await this.#retrying.acquire(resources, ttl, settings);
    const made = attempts.length;
    if (held === undefined) {
      const message = `Exceeded ${settings.retryCount} attempts to lock the resource "${resources}".`;
      throw new LockError(message, made, { cause: error });
    }
    const left = settings.retryCount - made;
    const lock = new Lock(this, resources, held.owner, expirationOf(held), made, left, held.fence);
    heldLocks.set(lock, held);
    return lock;
  }

  /** See {@link Redlock.lockWithOptions}. */
  acquireWithOptions(
    resource: string | readonly string[],
    ttl: number,
    options: Partial<RetrySettings>,
    ...none: readonly never[]
  ): Promise<Lock> {
    return this.lockWithOptions(resource, ttl, options, ...none);
  }

  /**
   * Unlocks a lock.
   *
   * @param lock a lock of this process
   * @throws {LockError} when the lock was lost before, or too few servers replied
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock-4";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()]);
   * await jobs.unlock(await jobs.lock("invoice:42", 10_000));
   * await jobs.quit();
   * ```
   */
  async unlock(lock: Lock, ...none: readonly never[]): Promise<void> {
    assertNoCallback(none);
    await orLockError(releaseHeld(lock), `Unable to fully release the lock on resource "${lock.resource}".`);
  }

  /** See {@link Redlock.unlock}. */
  release(lock: Lock, ...none: readonly never[]): Promise<void> {
    return this.unlock(lock, ...none);
  }

  /**
   * Extends a lock. Retries until its validity ends, but not when too few servers still hold it.
   *
   * @param lock a lock of this process
   * @param ttl how long the servers keep the lock from now, in milliseconds
   * @returns the same lock
   * @throws {LockError} when the lock was unlocked, has expired, or cannot be extended
   * @throws {TypeError | RangeError} for bad arguments, such as a ttl that would shorten the lock
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock-4";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis()]);
   * const lock = await jobs.lock("invoice:42", 10_000);
   * await jobs.extend(lock, 30_000);
   * await lock.unlock();
   * await jobs.quit();
   * ```
   */
  async extend<Extended extends Lock>(lock: Extended, ttl: number, ...none: readonly never[]): Promise<Extended> {
    assertNoCallback(none);
    const held = heldBy(lock);
    await orLockError(extendHeld(held, ttl, this.settings), `Cannot extend lock on resource "${lock.resource}".`);
    lock.expiration = expirationOf(held);
    return lock;
  }

  /**
   * Rejects the calls that wait, and closes the clients.
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/redlock-4";
   * import { Redis } from "ioredis";
   *
   * await new Redlock([new Redis()]).quit();
   * ```
   */
  async quit(...none: readonly never[]): Promise<void> {
    assertNoCallback(none);
    await this.#retrying.quit();
  }
}

/**
 * The types of `Redlock`, by the names of version 4.
 *
 * @example
 * ```ts
 * import { Redlock } from "@holdfast/compat/redlock-4";
 *
 * const options: Redlock.Options = { retryCount: 3 };
 * const unlock = (lock: Redlock.Lock) => lock.unlock();
 * console.log(options, unlock);
 * ```
 */
export declare namespace Redlock {
  /** The type of its locks. */
  type Lock = InstanceType<typeof Redlock.Lock>;
  /** The type of its errors. */
  type LockError = InstanceType<typeof Redlock.LockError>;
  /** See {@link RetrySettings}. */
  type Options = Partial<RetrySettings>;
}

export default Redlock;

async function orLockError(operation: Promise<void>, message: string): Promise<void> {
  try {
    await operation;
  } catch (cause) {
    throw cause instanceof HoldfastError ? new LockError(message, undefined, { cause }) : cause;
  }
}

/** Callers of version 4 may pass a callback, which would never be called. */
function assertNoCallback(extra: readonly unknown[]): void {
  if (extra.some((value) => value !== undefined)) throw new TypeError("callbacks are not supported: use the promise");
}

import { withDefaults } from "./with-defaults.ts";

/** How long a lock is kept and waited for. Durations are milliseconds. */
export interface TimeoutOptions {
  /** How long the servers keep a lock that is not refreshed. Default 10 000. */
  readonly lockTimeout?: number;
  /** How long `acquire` and `tryAcquire` try. Default 10 000. */
  readonly acquireTimeout?: number;
  /** How many attempts they make, one each `retryInterval`. Default `Infinity`. */
  readonly acquireAttemptsLimit?: number;
  /** The mean time between two attempts. Default 10. */
  readonly retryInterval?: number;
  /** The time between two refreshes; 0 for none. Default: 0.8 of `lockTimeout`. */
  readonly refreshInterval?: number;
}

/** The options of a lock. */
export interface LockOptions extends TimeoutOptions {
  /**
   * Called when the lock is lost while it is refreshed, no later than its validity ends. Default: throws the error, which
   * nobody can catch, and which ends the process.
   */
  readonly onLockLost?: LockLostCallback;
  /** Precedes each key, as the `keyPrefix` of a client does, which the clients must not have. Default: none. */
  readonly keyPrefix?: string;
}

/** The options of a semaphore. */
export interface SemaphoreOptions extends LockOptions {
  /**
   * States that no process uses `redis-semaphore` for this semaphore any more, as its permits would not be counted. It is
   * required.
   */
  readonly replacesRedisSemaphore: true;
}

/** See {@link LockOptions}. The type of a method, so that a function may declare `this` as a `Mutex`. */
export type LockLostCallback = { call(this: { readonly isAcquired: boolean }, error: LostLockError): void }["call"];

/** The defaults of `redis-semaphore`. */
export const defaultTimeoutOptions: {
  readonly lockTimeout: number;
  readonly acquireTimeout: number;
  readonly acquireAttemptsLimit: number;
  readonly retryInterval: number;
} = { lockTimeout: 10_000, acquireTimeout: 10_000, acquireAttemptsLimit: Infinity, retryInterval: 10 };

/**
 * The lock was lost. Its `cause` says why.
 *
 * @example
 * ```ts
 * import { LostLockError, Mutex } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * const mutex = new Mutex(new Redis(), "invoice:42", {
 *   onLockLost: (error: LostLockError) => console.error(error.cause),
 * });
 * await mutex.acquire();
 * await mutex.release();
 * ```
 */
export class LostLockError extends Error {
  override readonly name = "LostLockError";
}

/**
 * The lock was not acquired in time. Its `cause` says who has it, or which servers did not reply.
 *
 * @example
 * ```ts
 * import { Mutex, TimeoutError } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * const mutex = new Mutex(new Redis(), "invoice:42", { acquireTimeout: 1_000 });
 * await mutex.acquire().catch((error) => {
 *   if (!(error instanceof TimeoutError)) throw error;
 *   console.log("others are at it");
 * });
 * await mutex.release();
 * ```
 */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/** The options that would share a lock between processes. */
const sharing = ["identifier", "identifierSuffix", "acquiredExternally", "externallyAcquiredIdentifier"];

/** Options without gaps. */
export type CompleteOptions = Required<LockOptions>;

/**
 * Checks the options and fills in the defaults.
 *
 * @param isSemaphore whether they are {@link SemaphoreOptions}
 * @throws {TypeError | RangeError} naming the option that is wrong
 */
export function completeOptions(options: LockOptions, isSemaphore: boolean): CompleteOptions {
  const given = Object(options) as Record<string, unknown>;
  const shared = sharing.find((name) => given[name] !== undefined);
  if (shared !== undefined) {
    throw new TypeError(
      `${shared} is not supported: each lock has a random value of its own, and belongs to one process`,
    );
  }
  if (isSemaphore && given.replacesRedisSemaphore !== true) {
    throw new TypeError(
      "permits that processes with redis-semaphore hold are not counted: stop those first, and then pass " +
        "replacesRedisSemaphore: true",
    );
  }
  const { lockTimeout = defaultTimeoutOptions.lockTimeout } = Object(options) as LockOptions;
  const refreshInterval = Math.round(lockTimeout * 0.8);
  const defaults = { ...defaultTimeoutOptions, refreshInterval, onLockLost: rethrow, keyPrefix: "" };
  return withDefaults<CompleteOptions>(options, defaults, {
    of: isSemaphore ? "a semaphore" : "a mutex",
    leasts: { acquireAttemptsLimit: 1 },
    others: isSemaphore ? ["replacesRedisSemaphore"] : [],
  });
}

function rethrow(error: LostLockError): never {
  throw error;
}

/**
 * The API of `redis-semaphore` over Holdfast. Mutexes have the same keys, so that processes with either library exclude each
 * other. Semaphores do not: each permit is a lock of its own, instead of a member of a sorted set.
 */
import type { IoredisClient } from "@holdfast/ioredis";
import { KeyLock } from "./key-lock.ts";
import type { LockOptions, SemaphoreOptions } from "./key-lock-options.ts";

export { KeyLock } from "./key-lock.ts";
export {
  defaultTimeoutOptions,
  type LockLostCallback,
  type LockOptions,
  LostLockError,
  type SemaphoreOptions,
  TimeoutError,
  type TimeoutOptions,
} from "./key-lock-options.ts";

/**
 * `Mutex` of `redis-semaphore`: one holder at a time, over one server.
 *
 * @example
 * ```ts
 * import { Mutex } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * const mutex = new Mutex(new Redis(), "invoice:42", { lockTimeout: 5_000 });
 * await mutex.acquire();
 * console.log(`alone with invoice:42, fence ${mutex.fence}`);
 * await mutex.release();
 * ```
 */
export class Mutex extends KeyLock {
  /**
   * Creates a mutex that is not acquired. Sends nothing.
   *
   * @param client a client of ioredis
   * @param key the name to lock: its key is `mutex:` and the name
   * @param options see {@link LockOptions}
   * @throws {TypeError | RangeError} for bad arguments
   */
  constructor(client: IoredisClient, key: string, options: LockOptions = {}) {
    super("mutex", [client], key, options);
  }
}

/**
 * `RedlockMutex` of `redis-semaphore`: one holder at a time, over a majority of several servers.
 *
 * @example
 * ```ts
 * import { RedlockMutex } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * const clients = [7001, 7002, 7003].map((port) => new Redis({ port }));
 * const mutex = new RedlockMutex(clients, "invoice:42", { onLockLost: (error) => console.error(error) });
 * if (await mutex.tryAcquire()) await mutex.release();
 * ```
 */
export class RedlockMutex extends KeyLock {
  /**
   * Creates a mutex that is not acquired. Sends nothing.
   *
   * @param clients clients of ioredis, one for each server
   * @param key the name to lock: its key is `mutex:` and the name
   * @param options see {@link LockOptions}
   * @throws {TypeError | RangeError} for bad arguments
   */
  constructor(clients: readonly IoredisClient[], key: string, options: LockOptions = {}) {
    super("redlock-mutex", clients, key, options);
  }
}

/**
 * `MultiSemaphore` of `redis-semaphore`: a holder has several of the permits, all of them or none.
 *
 * @example
 * ```ts
 * import { MultiSemaphore } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * const two = new MultiSemaphore(new Redis(), "api", 5, 2, { replacesRedisSemaphore: true });
 * await two.acquire();
 * await two.release();
 * ```
 */
export class MultiSemaphore extends KeyLock {
  /**
   * Creates a semaphore that is not acquired. Sends nothing.
   *
   * @param client a client of ioredis
   * @param key the name of the semaphore
   * @param limit how many permits there are
   * @param permits how many of them a holder has
   * @param options see {@link SemaphoreOptions}
   * @throws {TypeError | RangeError} for bad arguments
   */
  constructor(client: IoredisClient, key: string, limit: number, permits: number, options: SemaphoreOptions) {
    super("multi-semaphore", [client], key, options, { limit, permits });
  }
}

/**
 * `Semaphore` of `redis-semaphore`: at most `limit` holders at a time, over one server.
 *
 * @example
 * ```ts
 * import { Semaphore } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * const api = new Semaphore(new Redis(), "api", 5, { replacesRedisSemaphore: true });
 * await api.acquire();
 * await api.release();
 * ```
 */
export class Semaphore extends KeyLock {
  /**
   * Creates a semaphore that is not acquired. Sends nothing.
   *
   * @param client a client of ioredis
   * @param key the name of the semaphore
   * @param limit how many permits there are
   * @param options see {@link SemaphoreOptions}
   * @throws {TypeError | RangeError} for bad arguments
   */
  constructor(client: IoredisClient, key: string, limit: number, options: SemaphoreOptions) {
    super("semaphore", [client], key, options, { limit, permits: 1 });
  }
}

/**
 * `RedlockMultiSemaphore` of `redis-semaphore`, whose permits are never held by more holders than there are.
 *
 * @example
 * ```ts
 * import { RedlockMultiSemaphore } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * const clients = [7001, 7002, 7003].map((port) => new Redis({ port }));
 * const two = new RedlockMultiSemaphore(clients, "api", 5, 2, { replacesRedisSemaphore: true });
 * await two.acquire();
 * await two.release();
 * ```
 */
export class RedlockMultiSemaphore extends KeyLock {
  /**
   * Creates a semaphore that is not acquired. Sends nothing.
   *
   * @param clients clients of ioredis, one for each server
   * @param key the name of the semaphore
   * @param limit how many permits there are
   * @param permits how many of them a holder has
   * @param options see {@link SemaphoreOptions}
   * @throws {TypeError | RangeError} for bad arguments
   */
  constructor(
    clients: readonly IoredisClient[],
    key: string,
    limit: number,
    permits: number,
    options: SemaphoreOptions,
  ) {
    super("redlock-multi-semaphore", clients, key, options, { limit, permits });
  }
}

/**
 * `RedlockSemaphore` of `redis-semaphore`, which never has more than `limit` holders.
 *
 * @example
 * ```ts
 * import { RedlockSemaphore } from "@holdfast/compat/redis-semaphore";
 * import { Redis } from "ioredis";
 *
 * const clients = [7001, 7002, 7003].map((port) => new Redis({ port }));
 * const api = new RedlockSemaphore(clients, "api", 5, { replacesRedisSemaphore: true });
 * await api.acquire();
 * await api.release();
 * ```
 */
export class RedlockSemaphore extends KeyLock {
  /**
   * Creates a semaphore that is not acquired. Sends nothing.
   *
   * @param clients clients of ioredis, one for each server
   * @param key the name of the semaphore
   * @param limit how many permits there are
   * @param options see {@link SemaphoreOptions}
   * @throws {TypeError | RangeError} for bad arguments
   */
  constructor(clients: readonly IoredisClient[], key: string, limit: number, options: SemaphoreOptions) {
    super("redlock-semaphore", clients, key, options, { limit, permits: 1 });
  }
}

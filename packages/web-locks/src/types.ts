/**
 * The types of the Web Locks API, spelled out so that programs need no types of a browser. A {@link LockManager} can be
 * passed wherever the `LockManager` of TypeScript's library "dom" is wanted.
 */

/** `exclusive`: nobody else holds a lock of the name. `shared`: others may hold shared locks of it, as readers do. */
export type LockMode = "exclusive" | "shared";

/** The lock that a callback gets. It is held until the promise that the callback returns settles. */
export interface GrantedLock {
  /** The name that was requested. */
  readonly name: string;
  /** The mode that was requested. */
  readonly mode: LockMode;
  /**
   * Beyond the standard: the fencing token, as in `Lock.fence` of `@holdfast/core`. Of two locks of a name, at least one
   * of them exclusive, the later one has the larger token. Shared locks may have the same.
   */
  readonly fence: number;
  /**
   * Beyond the standard: aborts when the lock is stolen or lost, with the `AbortError` with which the promise of
   * `request()` rejects as the reason. In a process from which the lock is stolen by another one, that is within half of
   * the ttl.
   */
  readonly signal: AbortSignal;
}

/** The options of {@link LockManager.request}. Unknown ones are ignored, as the specification says. */
export interface LockRequestOptions {
  /** The mode of the lock. Default `exclusive`. */
  readonly mode?: LockMode;
  /** Calls the callback with null if the lock cannot be granted without waiting. Default false. */
  readonly ifAvailable?: boolean;
  /** Ends the wait when it aborts: the request rejects with its reason. Has no effect once the lock is granted. */
  readonly signal?: AbortSignal;
  /**
   * Takes the lock away from its holders, and passes all that wait. An earlier request of the same lock manager that is
   * about to get the lock gets it first, and then loses it. The code of the holders goes on, and learns of it by the
   * rejection of its request, and by the signal of its lock. Default false.
   */
  readonly steal?: boolean;
}

/** A lock that is held, or a request that waits. */
export interface LockInfo {
  /** The name of the lock. */
  readonly name: string;
  /** The mode of the lock. */
  readonly mode: LockMode;
  /** Which lock manager holds or requests it; for a holder without one, its owner value on the nodes. */
  readonly clientId: string;
}

/** The result of {@link LockManager.query}. */
export interface LockManagerSnapshot {
  /** The locks that are held, in no particular order. */
  readonly held: LockInfo[];
  /** The requests of this lock manager that wait; for each name, in order. */
  readonly pending: LockInfo[];
}

/** The shape of `navigator.locks`. */
export interface LockManager {
  /**
   * Requests a lock, waits for it as long as it takes, calls the callback with it, and holds it until the promise that
   * the callback returns settles.
   *
   * @returns the result of the callback, once the lock is released
   * @throws the error of the callback
   * @throws {DOMException} `AbortError` when the lock is stolen, or lost; its `cause` then is the `LockLostError`
   * @throws {DOMException} `NotSupportedError` for a name that begins with "-", and for options that exclude each other:
   *   `steal` with `ifAvailable`, `steal` with the mode `shared`, and `signal` with one of the two
   * @throws {TypeError} for arguments of the wrong type, and for a name that is not well-formed Unicode
   * @throws {ConfigurationError | QueueFullError | RedlockClosedError} as in `Redlock.acquire`
   * @throws {QuorumUnreachableError} when too few nodes reply, with `ifAvailable` or `steal`; other requests wait
   * @throws the reason of `signal` when it aborts before the lock is granted
   *
   * @example
   * ```ts
   * import { createLockManager } from "@holdfast/web-locks";
   *
   * const locks = createLockManager(redlock);
   * const total = await locks.request("cart", { mode: "shared" }, async (lock) => {
   *   console.log(lock.name, lock.mode);
   *   return 42;
   * });
   * console.log(total); // 42
   * ```
   */
  request<T>(name: string, callback: (lock: GrantedLock) => T): Promise<Awaited<T>>;
  /** The same with options; the callback always gets a lock. */
  request<T>(
    name: string,
    options: LockRequestOptions & { readonly ifAvailable?: false },
    callback: (lock: GrantedLock) => T,
  ): Promise<Awaited<T>>;
  /** The same with options; with `ifAvailable`, the callback may get null. */
  request<T>(name: string, options: LockRequestOptions, callback: (lock: GrantedLock | null) => T): Promise<Awaited<T>>;

  /**
   * Returns what is held and requested, once the nodes have decided the requests of this lock manager that were made
   * before. Of this lock manager, that is everything. Of others, it is the locks of names that this one holds or requests,
   * if a majority of the nodes names their holders; their `clientId` differs.
   *
   * @throws {RedlockClosedError} when the `Redlock` is closed
   *
   * @example
   * ```ts
   * import { createLockManager } from "@holdfast/web-locks";
   *
   * const locks = createLockManager(redlock, { clientId: "worker-7" });
   * await locks.request("cart", async () => {
   *   const { held } = await locks.query();
   *   console.log(held); // [{ name: "cart", mode: "exclusive", clientId: "worker-7" }]
   * });
   * ```
   */
  query(): Promise<LockManagerSnapshot>;
}

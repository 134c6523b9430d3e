/** The common interface of lock libraries that contend on the same servers. */
export interface Library {
  readonly name: string;
  /** Whether one lock can cover several keys on several servers. */
  readonly locksSeveral: boolean;
  /** Connects one client to each of the servers, and resolves when all are ready. */
  connect(ports: readonly number[]): Promise<Locker>;
}

/** One user of a library, with connections of its own. */
export interface Locker {
  /**
   * Makes one attempt to lock keys, named as they are on the servers. Resolves with null if another client holds one of them,
   * and rejects on any other failure.
   */
  tryLock(keys: readonly string[], ttlMs: number): Promise<HeldLock | null>;
  /** Closes the connections. */
  close(): void;
}

/** A lock that was acquired. */
export interface HeldLock {
  /** The value of each of its keys. */
  readonly value: string;
  /** The fencing token, where the library has them. */
  readonly fence?: number;
  /** Extends the lock to this ttl from now. Resolves with whether that succeeded. */
  extend(ttlMs: number): Promise<boolean>;
  /** Releases the lock. Resolves even if it had ended before. */
  release(): Promise<void>;
}

/** Resolves with `instead` if the promise rejects with an error of this class. Other rejections stay. */
export async function unless<T, U>(
  promise: PromiseLike<T>,
  // biome-ignore lint/suspicious/noExplicitAny: a class with any constructor
  condition: abstract new (...args: any[]) => Error,
  instead: U,
): Promise<T | U> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof condition) return instead;
    throw error;
  }
}

/** What lock libraries have in common, as far as it takes to let them meet on the same servers. */
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
   * Makes one attempt to lock keys, named as they are on the servers; null when somebody else holds one of them.
   * Rejects when anything else goes wrong.
   */
  tryLock(keys: readonly string[], ttlMs: number): Promise<HeldLock | null>;
  /** Closes the connections. */
  close(): void;
}

/** A lock that was acquired. */
export interface HeldLock {
  /** What stands under each of its keys. */
  readonly value: string;
  /** The fencing token, where the library has them. */
  readonly fence?: number;
  /** Whether it could be extended to so long from now. */
  extend(ttlMs: number): Promise<boolean>;
  /** Gives it up. What a library says about a lock that had ended before is no error here. */
  release(): Promise<void>;
}

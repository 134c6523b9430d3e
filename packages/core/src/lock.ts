/// <reference lib="esnext.disposable" preserve="true" />

/** An acquired lock. It ends when it is released or transferred, or when its validity ends before it is extended. */
export interface Lock extends AsyncDisposable {
  /** The locked resources: sorted, without duplicates. */
  readonly resources: readonly string[];
  /** The random value that signs the lock on the nodes, prefixed by the label if there is one. */
  readonly owner: string;
  /**
   * The fencing token: a safe integer, larger than the token of every earlier lock on any of these resources. It
   * protects data in a store that remembers the largest token presented to it, from the first read on, and rejects
   * smaller ones.
   */
  readonly fence: number;
  /**
   * Aborts when the lock is lost, no later than the end of its validity, or transferred, with a {@link LockLostError} as
   * the reason. Does not abort when the lock is released.
   */
  readonly signal: AbortSignal;
  /** Returns how long the lock may be relied on from now, in milliseconds: 0 once it has ended. */
  remainingMs(): number;
  /**
   * Extends the lock to `ttlMs` from now. A lock that already lasts longer is left unchanged. While too few nodes
   * reply, retries until the validity ends.
   *
   * @throws {LockLostError} when the lock has ended, or turns out to be lost
   * @throws {ConfigurationError} immediately, when so many nodes report a configuration error that the rest is no
   *   quorum; the lock stays as it was
   * @throws {TypeError | RangeError} for bad options
   *
   * @example
   * ```ts
   * const lock = await redlock.acquire("invoice:42");
   * await lock.extend({ ttlMs: 30_000 });
   * console.log(lock.remainingMs() > 20_000);
   * await lock.release();
   * ```
   */
  extend(options?: ExtendOptions): Promise<void>;
  /**
   * Releases the lock on all nodes, and resolves once a quorum has replied. Safe to repeat: it never frees another
   * owner's claim, and releasing a lock that has ended resolves immediately.
   *
   * @throws {QuorumUnreachableError} when too few nodes reply; on the others, the lock then expires with its ttl unless
   *   another call of this method reaches them first
   *
   * @example
   * ```ts
   * const lock = await redlock.acquire("invoice:42");
   * await lock.release();
   * await lock.release(); // harmless
   * ```
   */
  release(): Promise<void>;
  /**
   * Ends this lock, which must be exclusive, and returns a ticket with which another process can adopt it: see
   * `Redlock.adopt`. Until then, nobody holds the lock, and nobody else can acquire it for `withinMs`. The signal aborts at
   * once.
   *
   * The ticket is printable ASCII: about 100 characters, and the names of the resources. It works once. Until then, a reader
   * of the ticket who can reach the servers can adopt the lock.
   *
   * @returns the ticket
   * @throws {LockLostError} when the lock has ended, too few nodes still hold it, or too few replied in time. The lock is
   *   released then
   * @throws {TypeError | RangeError} for bad options, and for a shared lock; the lock stays as it was
   *
   * @example
   * ```ts
   * const lock = await redlock.acquire("report:7");
   * const ticket = await lock.transfer({ withinMs: 60_000 });
   * // … another process, which has received the ticket:
   * await using adopted = await redlock.adopt(ticket, { autoExtend: true });
   * console.log(adopted.fence > lock.fence); // true
   * ```
   */
  transfer(options?: TransferOptions): Promise<string>;
  /**
   * Releases the lock at the end of an `await using` block, and waits for the nodes unless `awaitRelease` is false.
   * Never throws: on nodes that do not reply, the lock expires with its ttl.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The options of {@link Lock.transfer}. */
export interface TransferOptions {
  /**
   * How long the nodes keep the lock for the ticket, in milliseconds: an integer above `nodeTimeoutMs` and the allowance for
   * clock drift. Default: the ttl of the lock.
   */
  readonly withinMs?: number | undefined;
}

/** The options of {@link Lock.extend}. */
export interface ExtendOptions {
  /** How long the nodes keep the claim from now, at least, in milliseconds. Default: the ttl of the lock. */
  readonly ttlMs?: number | undefined;
}

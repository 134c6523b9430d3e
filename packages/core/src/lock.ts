/// <reference lib="esnext.disposable" preserve="true" />

/** A lock that was acquired. It ends when it is released, or when its validity ends before it is extended. */
export interface Lock extends AsyncDisposable {
  /** What is locked: sorted, without duplicates. */
  readonly resources: readonly string[];
  /** The random value that signs the lock on the nodes, led by the label if there is one. */
  readonly owner: string;
  /**
   * The fencing token: a safe integer, larger than that of every lock granted before on any of these resources. It
   * protects data in a store that remembers the largest one it was shown, at the first read, and refuses smaller ones.
   */
  readonly fence: number;
  /**
   * Aborts when the lock is lost, no later than its validity ends, with a {@link LockLostError} as the reason. It does
   * not abort when the lock is released.
   */
  readonly signal: AbortSignal;
  /** How long the lock may be relied on from now, in milliseconds: 0 once it is lost or released. */
  remainingMs(): number;
  /**
   * Extends the lock to `ttlMs` from now; a lock that lasts longer than that is left as it is. As long as too few nodes
   * answer, it tries again until the validity ends.
   *
   * @throws {LockLostError} when the lock is, or thereby turns out to be, lost or released
   * @throws {ConfigurationError} at once, when so many nodes say that it can never work like this that the rest is no quorum;
   *   the lock stays as it was
   * @throws {TypeError | RangeError} for a bad ttl
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
   * Releases the lock on all nodes, and resolves once a quorum has answered. Safe to repeat: it never frees what
   * another owner holds, and releasing a lock that has ended resolves at once.
   *
   * @throws {QuorumUnreachableError} when too few nodes answer; the lock then ends on the others with its ttl, unless
   *   another call of this method reaches them before
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
   * Releases the lock, for `await using`, and waits for the nodes' answers unless `awaitRelease` is false. Does not throw:
   * where nodes do not answer, the lock ends with its ttl.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** What `extend` may be told. */
export interface ExtendOptions {
  /** How long the nodes keep the claim from now at the least, in milliseconds. The ttl that it was acquired with unless given. */
  readonly ttlMs?: number | undefined;
}

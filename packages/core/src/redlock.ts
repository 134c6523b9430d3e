/// <reference lib="esnext.disposable" preserve="true" />

import { checkInteger, checkMethods, wrong } from "./arguments.ts";
import { type Attempt, type AttemptFailed, attempt, attemptError, notSent } from "./attempt.ts";
import { freshOwner } from "./claim.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { RedlockContext } from "./context.ts";
import { failureDetails, type LockAction, LockHeldError, type NodeSet, RedlockClosedError } from "./errors.ts";
import { FirstLock } from "./first-lock.ts";
import { epochOf } from "./generation.ts";
import { HeldLock } from "./held-lock.ts";
import { type Health, healthOf, type Inspection, inspectResource } from "./inspect.ts";
import { type ClockReading, readClocks } from "./lease.ts";
import type { Lock } from "./lock.ts";
import type { LockNode } from "./lock-node.ts";
import type { Nesting } from "./nesting.ts";
import { type JointSet, NodeSets } from "./node-sets.ts";
import {
  type AdoptOptions,
  type LockOptions,
  parseRedlockOptions,
  parseResources,
  type RedlockOptions,
  type Settings,
} from "./options.ts";
import { Pause } from "./pause.ts";
import { OpenCalls } from "./quorum-call.ts";
import { RequestLimit } from "./request-limit.ts";
import { assertObserver, observerNames, safeObserver } from "./safe-observer.ts";
import { adoptTicket, assertAdoption, parseTicket, type Ticket } from "./transfer.ts";
import { noVotes } from "./votes.ts";
import { LocalQueues, type Waiter } from "./waiting/index.ts";

/** The number of open `Redlock`s that use each node. The last one to close also closes the node. */
const users = new WeakMap<LockNode, number>();

/**
 * Distributed locks over N independent lock servers (Sanfilippo, "Distributed Locks with Redis", the distlock page),
 * with fencing tokens. Works while a majority of the nodes is up.
 *
 * A lock is a lease: it excludes others as long as clocks run at about the same rate and no node forgets its claims. If
 * this process is paused for longer than the lock's validity, another process can get the lock, and only a store that
 * checks `lock.fence` can reject late writes of this one (Kleppmann, "How to do distributed locking").
 */
export class Redlock implements AsyncDisposable {
  /** The nodes, in the order in which they were given; while servers change, those of both sets. */
  readonly nodes: readonly LockNode[];
  /** The names of the nodes, and how many are a quorum: one set, or while servers change the old one and the new one. */
  readonly sets: readonly NodeSet[];
  /** The clocks and timers in use, for what is built on locks. */
  readonly clock: Clock;
  /** The upper limits of the random delays between attempts, for what is built on locks. */
  readonly retryDelays: { readonly retryDelayMs: number; readonly retryDelayMaxMs: number };
  readonly #closed = new AbortController();
  /** Aborts when this `Redlock` is closed, for what is built on locks. */
  readonly closed: AbortSignal = this.#closed.signal;
  readonly #context: RedlockContext;
  readonly #settings: Settings;
  readonly #settingsFor: (options: LockOptions) => Settings;
  readonly #queues: LocalQueues;
  readonly #nesting: Nesting | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Creates a client of these nodes. Sends nothing.
   *
   * @param nodes the lock servers: an odd number of independent primaries, each listed once; or those before and after
   *   a change of servers
   * @param options what the servers need, and the defaults for all locks, which a call can override
   * @throws {TypeError | RangeError} for bad nodes or options
   *
   * @example
   * ```ts
   * const nodes = ["a", "b", "c"].map((name) => memoryNode({ name }));
   * const redlock = new Redlock(nodes, { ttlMs: 5_000 });
   * await redlock.using("invoice:42", () => console.log("alone with it"));
   * ```
   */
  constructor(nodes: readonly LockNode[] | JointSet, options: RedlockOptions = {}) {
    const sets = new NodeSets(nodes);
    const { settings, settingsFor } = parseRedlockOptions(options, sets);
    this.#settings = settings;
    this.#settingsFor = settingsFor;
    const { observer, clock = systemClock, maxWaiters = 10_000, generation = 0, nesting } = options;
    checkMethods("clock", Object.keys(systemClock), clock);
    assertObserver(observer, observerNames, "an observer");
    checkInteger("maxWaiters", maxWaiters);
    if (nesting !== undefined) checkMethods("nesting", ["run", "lockAround"], nesting);
    this.#nesting = nesting;
    const epoch = epochOf(generation, sets.isJoint);
    const openCalls = new OpenCalls(clock);
    this.nodes = sets.nodes;
    this.sets = this.#settings.quorum.sets;
    const { retryDelayMs, retryDelayMaxMs } = settings;
    this.retryDelays = { retryDelayMs, retryDelayMaxMs };
    this.clock = clock;
    this.#context = {
      nodes: sets.nodes,
      majority: sets.majority,
      epoch: epoch === 1 ? undefined : epoch,
      clock,
      observer: safeObserver(observer),
      tokens: { highest: 0 },
      limit: new RequestLimit(clock, sets.nodes),
      openCalls,
      firstLock: new FirstLock(clock, sets.nodes, openCalls),
      servers: sets.nodes.length > 1 ? new Map() : undefined,
      waiterName: freshOwner(),
    };
    for (const node of sets.nodes) users.set(node, (users.get(node) ?? 0) + 1);
    this.#queues = new LocalQueues(this.#context, maxWaiters);
  }

  /**
   * Acquires a lock on one resource, or on several at once: all of them or none. Waits up to `waitTimeoutMs`.
   *
   * @param resources the names to lock, in any order: non-empty strings
   * @param options override those of the `Redlock`
   * @throws {WaitTimeoutError} when others held a resource for all of `waitTimeoutMs`
   * @throws {LockHeldError} when another owner holds a resource and `waitTimeoutMs` is 0
   * @throws {QuorumUnreachableError} when too few nodes replied
   * @throws {ConfigurationError} immediately, when a node reports a configuration error
   * @throws {QueueFullError} when `maxWaiters` calls are in progress
   * @throws {RedlockClosedError} when the `Redlock` is closed before or during the call
   * @throws {TypeError | RangeError} for bad arguments
   * @throws the reason of `signal` when it aborts
   *
   * @example
   * ```ts
   * const lock = await redlock.acquire(["from:7", "to:9"], { waitTimeoutMs: 2_000, autoExtend: true });
   * try {
   *   console.log(`fence ${lock.fence}`);
   * } finally {
   *   await lock.release();
   * }
   * ```
   */
  acquire(resources: string | readonly string[], options?: LockOptions): Promise<Lock> {
    return this.#acquire(resources, options, { mayWait: true, autoExtend: false });
  }

  /**
   * Makes one attempt to acquire a lock, without waiting for other owners.
   *
   * @param resources the names to lock, in any order: non-empty strings
   * @param options override those of the `Redlock`
   * @returns the lock, or null when another owner holds one of the resources
   * @throws {QuorumUnreachableError} when too few nodes replied
   * @throws {ConfigurationError} immediately, when a node reports a configuration error
   * @throws {QueueFullError} when `maxWaiters` calls are in progress
   * @throws {RedlockClosedError} when the `Redlock` is closed before or during the call
   * @throws {TypeError | RangeError} for bad arguments
   * @throws the reason of `signal` when it aborts
   *
   * @example
   * ```ts
   * const lock = await redlock.tryAcquire("nightly-report");
   * if (lock === null) console.log("another process makes it");
   * else await lock.release();
   * ```
   */
  tryAcquire(resources: string | readonly string[], options?: LockOptions): Promise<Lock | null> {
    return this.#acquire(resources, options, { mayWait: false, autoExtend: false });
  }

  /**
   * Makes the lock that another process has transferred a lock of this one, with a new owner and a larger fence. A ticket
   * works once, within the time that `Lock.transfer` was given. Nobody else has held the lock meanwhile. An adoption takes
   * three round trips, and fails unless they end within the validity of the new lock, which counts from the first one.
   *
   * The call can be repeated after a {@link LockHeldError}, and after any failure before the nodes began to take the claim
   * over. A takeover that fails, as too few nodes reply, `signal` aborts or the `Redlock` is closed, spends the ticket and
   * frees the resources.
   *
   * @param ticket the text that {@link Lock.transfer} returned. It names the resources
   * @param options override those of the `Redlock`
   * @throws {TicketSpentError} when the ticket was adopted before, or its time is over
   * @throws {LockHeldError} when another process is adopting the ticket
   * @throws {QuorumUnreachableError} when too few nodes replied in time
   * @throws {ConfigurationError} immediately, when a node reports a configuration error
   * @throws {QueueFullError} when `maxWaiters` calls are in progress
   * @throws {RedlockClosedError} when the `Redlock` is closed before or during the call
   * @throws {TypeError | RangeError} for bad arguments
   * @throws the reason of `signal` when it aborts
   *
   * @example
   * ```ts
   * async function onJob(ticket: string) {
   *   await using lock = await redlock.adopt(ticket, { autoExtend: true });
   *   console.log(`fence ${lock.fence}`);
   * }
   * const lock = await redlock.acquire("report:7");
   * await onJob(await lock.transfer({ withinMs: 60_000 })); // in another process, that is
   * ```
   */
  async adopt(ticket: string, options: AdoptOptions = {}): Promise<Lock> {
    const parsed = parseTicket(ticket);
    assertAdoption(options);
    const lockOptions = { ...options, mode: "exclusive" } as const;
    return this.#acquire(parsed.resources, lockOptions, { mayWait: false, autoExtend: false, ticket: parsed });
  }

  /**
   * Runs a routine under a lock, extends the lock while the routine runs, and releases it afterwards. A release that
   * too few nodes confirm is not an error: the lock then expires with its ttl. `awaitRelease` decides whether to wait
   * for it.
   *
   * @param resources the names to lock, in any order: non-empty strings
   * @param routine called with the lock; it should stop when `lock.signal` aborts
   * @returns the result of the routine
   * @throws the error of the routine, or any error of {@link Redlock.acquire}
   * @throws {LockLostError} when the routine succeeded, but the lock was lost before it ended
   *
   * @example
   * ```ts
   * const fence = await redlock.using("invoice:42", async (lock) => {
   *   lock.signal.throwIfAborted(); // aborts as soon as the lock is lost
   *   return lock.fence; // show it to the storage with every access
   * });
   * console.log(fence);
   * ```
   */
  async using<T>(resources: string | readonly string[], routine: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  async using<T>(
    resources: string | readonly string[],
    options: LockOptions,
    routine: (lock: Lock) => T | PromiseLike<T>,
  ): Promise<T>;
  async using<T>(
    resources: string | readonly string[],
    ...rest: [routine: Routine<T>] | [options: LockOptions, routine: Routine<T>]
  ): Promise<T> {
    const [options, routine] = rest.length === 1 ? [undefined, rest[0]] : rest;
    if (typeof routine !== "function") throw wrong("routine", "a function", routine, TypeError);
    const lock = await this.#acquire(resources, options, { mayWait: true, autoExtend: true });
    try {
      const nesting = this.#nesting;
      const result = await (nesting ? nesting.run(lock, lock.settings, () => routine(lock)) : routine(lock));
      if (lock.lost !== undefined) throw lock.lost;
      return result;
    } finally {
      await lock[Symbol.asyncDispose]();
    }
  }

  /**
   * Returns who holds a resource, by majority and node by node. A node that does not reply within `nodeTimeoutMs` is
   * listed with its error.
   *
   * @param resource the name of the resource
   * @throws {TypeError | RangeError} for a bad resource
   * @throws {RedlockClosedError} when the `Redlock` is closed
   *
   * @example
   * ```ts
   * const { state, label, remainingMs } = await redlock.inspect("nightly-report");
   * console.log(state === "held" ? `held by ${label} for ${remainingMs} ms` : state);
   * ```
   */
  async inspect(resource: string): Promise<Inspection> {
    this.#assertOpen("inspect", parseResources([resource]));
    return inspectResource(this.#context, resource, this.#settings);
  }

  /**
   * Returns whether a quorum of the nodes replies, and why the others do not. Inspects a resource, and locks nothing, so
   * that it does not find out what only a claim does, such as a server that is listed twice. A node without `inspect` counts
   * as one that does not reply. Takes at most `nodeTimeoutMs`, or twice that while hundreds of operations are in flight. For
   * health checks, such as a probe of Kubernetes.
   *
   * @param resource the name to inspect: on a Redis Cluster, only its shard is asked. Default: `holdfast:health`
   * @throws {TypeError | RangeError} for a bad resource
   * @throws {RedlockClosedError} when the `Redlock` is closed
   *
   * @example
   * ```ts
   * const { ok, nodes } = await redlock.health();
   * if (!ok) console.error(nodes.flatMap(({ name, error }) => (error ? `${name}: ${error}` : [])));
   * ```
   */
  async health(resource: string = "holdfast:health"): Promise<Health> {
    return healthOf(await this.inspect(resource));
  }

  /**
   * Closes this `Redlock`. Calls in progress reject with a {@link RedlockClosedError}, and so do later ones. Waits for
   * releases and for the undoing of attempts, at most for the `nodeTimeoutMs` of those calls; claims on a node that has
   * not replied by then expire with their ttl. Then closes the nodes that no other `Redlock` uses, but not the clients
   * that were passed to them. Held locks stay held and can still be released. Never rejects. Safe to repeat.
   *
   * @example
   * ```ts
   * const redlock = new Redlock([memoryNode()]);
   * await redlock.using("invoice:42", () => console.log("alone with it"));
   * await redlock.close(); // or: await using redlock = new Redlock([memoryNode()]);
   * ```
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Calls {@link Redlock.close} at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { nodes, clock, limit, openCalls } = this.#context;
    this.#closed.abort();
    this.#queues.close();
    limit.dismiss();
    openCalls.reconsider(true); // which sends the undo of attempts
    await limit.drain();
    const pause = new Pause(clock);
    const unused = nodes.filter((node) => {
      const others = (users.get(node) ?? 1) - 1;
      users.set(node, others);
      return others === 0;
    });
    const closing = unused.map(async (node) => node.close?.());
    void Promise.allSettled(closing).then(() => pause.wake());
    await pause.wait(this.#settings.nodeTimeoutMs);
  }

  /** Throws if this `Redlock` is closed, or the caller has given up. */
  #assertOpen(action: LockAction, resources: readonly string[], signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.#closing) throw new RedlockClosedError(...this.#details(action, resources, "the Redlock is closed"));
  }

  /** The parameters of the error for a call that asked no node. */
  #details(action: LockAction, resources: readonly string[], remark: string): ReturnType<typeof failureDetails> {
    return failureDetails(action, { resources, nodes: this.nodes, quorum: this.#settings.quorum }, noVotes, remark);
  }

  #acquire(
    names: Names,
    options: LockOptions | undefined,
    kind: Kind & ({ mayWait: true } | { ticket: Ticket }),
  ): Promise<HeldLock>;
  #acquire(names: Names, options: LockOptions | undefined, kind: Kind): Promise<HeldLock | null>;
  async #acquire(names: Names, options: LockOptions | undefined, kind: Kind): Promise<HeldLock | null> {
    const resources = parseResources(names);
    const settings = options === undefined ? this.#settings : this.#settingsFor(options);
    const { clock, observer, limit } = this.#context;
    const { signal, waitTimeoutMs, nodeTimeoutMs } = settings;
    const action = kind.ticket === undefined ? "lock" : "adopt";
    const mayWait = kind.mayWait && waitTimeoutMs > 0;
    const calledAt = readClocks(clock);
    const deadlineMs = mayWait ? calledAt.monotonicMs + waitTimeoutMs : Infinity;
    let startedAt: ClockReading | undefined = calledAt; // unless the call waits before its attempt
    let waiter: Waiter | undefined;
    let failure: AttemptFailed | undefined;
    try {
      this.#assertOpen(action, resources, signal);
      const around = mayWait ? this.#nesting?.lockAround(resources, settings) : undefined;
      if (around !== undefined) throw new LockHeldError(...this.#details("lock", resources, around));
      waiter = this.#queues.enqueue(resources, settings, mayWait, action);
      for (; ; this.#assertOpen(action, resources, signal)) {
        if (startedAt === undefined && clock.monotonicMs() >= deadlineMs) {
          throw this.#errorOf(waiter, failure, true, action);
        }
        if (waiter.state === "queued") {
          startedAt = undefined;
          await this.#queues.next(waiter, deadlineMs);
          continue;
        }
        const isTakeover = waiter.offer !== undefined; // under the permit of the predecessor's release
        let hasPermit = isTakeover || limit.enter();
        if (!hasPermit) {
          startedAt = undefined;
          // A call that does not wait for other owners has no deadline.
          const patienceMs = deadlineMs === Infinity ? nodeTimeoutMs : deadlineMs - clock.monotonicMs();
          hasPermit = await limit.wait({ patienceMs, signal });
          if (!hasPermit && mayWait) continue;
        }
        let result: Attempt;
        try {
          result = hasPermit ? await this.#attempt(waiter, startedAt, kind.ticket) : notSent(nodeTimeoutMs);
        } finally {
          if (hasPermit && !isTakeover) limit.leave();
        }
        startedAt = undefined;
        const isOver = this.#closing !== undefined || signal?.aborted;
        if (result.outcome === "acquired") {
          if (!this.#queues.won(waiter, result.claim, result.settledAt.monotonicMs)) continue;
          const lock = new HeldLock(this.#context, this.#queues, waiter, result);
          if (isOver) {
            await lock[Symbol.asyncDispose]();
            continue;
          }
          if (settings.autoExtend ?? kind.autoExtend) lock.startAutoExtend();
          observer.acquired?.({
            ...lock.facts,
            ...{ mode: settings.mode, startedAt: result.startedAt, validityMs: settings.validityMs },
            ...{ attempts: waiter.attempts, waitedMs: this.#msSince(calledAt) },
          });
          return lock;
        }
        if (isOver) continue;
        failure = result;
        if (!mayWait || failure.outcome === "misconfigured") break;
        this.#queues.failed(waiter, failure);
      }
      const isRefused = !kind.mayWait && failure.outcome === "held" && failure.error === undefined;
      if (!isRefused) throw failure.error ?? this.#errorOf(waiter, failure, false, action);
      this.#queues.leave(waiter);
      const waitedMs = this.#msSince(calledAt);
      observer.acquireFailed?.({ resources, waitedMs, error: this.#errorOf(waiter, failure, false, action) });
      return null;
    } catch (error) {
      if (waiter !== undefined) this.#queues.leave(waiter);
      observer.acquireFailed?.({ resources, waitedMs: this.#msSince(calledAt), error });
      throw error;
    }
  }

  /** Makes an attempt, which starts now unless an earlier reading of the clocks still holds. */
  #attempt(waiter: Waiter, startedAt: ClockReading | undefined, ticket: Ticket | undefined): Promise<Attempt> {
    const context = this.#context;
    const terms = this.#queues.begin(waiter);
    if (ticket !== undefined) return adoptTicket(context, ticket, terms, this.closed);
    return attempt(context, terms, startedAt ?? readClocks(context.clock));
  }

  /** Creates the error of a call that ends without a lock. */
  #errorOf(waiter: Waiter, failure: AttemptFailed | undefined, hasWaited: boolean, action: LockAction): Error {
    return attemptError(this.#context, waiter, failure, hasWaited, this.#queues.heldHere(waiter), action);
  }

  #msSince(moment: ClockReading): number {
    return this.#context.clock.monotonicMs() - moment.monotonicMs;
  }
}

/** How `acquire`, `tryAcquire`, `adopt` and `using` differ. */
interface Kind {
  readonly mayWait: boolean;
  readonly autoExtend: boolean;
  readonly ticket?: Ticket;
}

type Names = string | readonly string[];

type Routine<T> = (lock: Lock) => T | PromiseLike<T>;

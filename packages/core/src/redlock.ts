import { attempt } from "./acquire.ts";
import type { Ensemble } from "./claim.ts";
import { systemClock } from "./clock.ts";
import { describe } from "./describe.ts";
import { FenceHint } from "./fence-hint.ts";
import { HeldLock } from "./held-lock.ts";
import { type Inspection, inspectResource } from "./inspect.ts";
import type { Lock } from "./lock.ts";
import type { LockNode } from "./lock-node.ts";
import { safeObserver } from "./observer.ts";
import {
  checkInteger,
  defaultSettings,
  type LockOptions,
  parseNodes,
  parseResources,
  type RedlockOptions,
  type Settings,
  withOptions,
} from "./options.ts";
import { freshOwner } from "./owner.ts";
import { type Moment, momentOf } from "./validity.ts";
import { Place } from "./waiting/place.ts";
import { lossError, waitForLock } from "./waiting/wait-for-lock.ts";
import { WaitQueue } from "./waiting/wait-queue.ts";

/**
 * Distributed locks over N independent lock servers (Sanfilippo, "Distributed Locks with Redis", the distlock page),
 * with fencing tokens. It needs a majority of the nodes, and goes on while a minority is down.
 *
 * A lock is a lease: it excludes others as long as clocks run at about the same rate and no node forgets its claims.
 * When this process is paused for longer than the lock's validity, another process gets the lock, and only a store
 * that checks `lock.fence` can tell the late writes of this one (Kleppmann, "How to do distributed locking").
 */
export class Redlock {
  readonly #ensemble: Ensemble;
  readonly #settings: Settings;
  readonly #queue: WaitQueue;

  /**
   * @param nodes the lock servers: independent masters, an odd number of them, each once
   * @param options what holds for all locks unless a call says otherwise
   * @throws {TypeError | RangeError} for bad nodes or options
   */
  constructor(nodes: readonly LockNode[], options: RedlockOptions = {}) {
    const { observer, clock = systemClock, maxWaiters = 10_000, ...lockOptions } = options;
    checkInteger("maxWaiters", maxWaiters);
    const checkedNodes = parseNodes(nodes);
    this.#settings = withOptions(defaultSettings(checkedNodes.length), lockOptions, checkedNodes.length);
    this.#ensemble = {
      nodes: checkedNodes,
      clock,
      observer: safeObserver(observer),
      fenceHint: new FenceHint(),
      waiter: freshOwner(undefined),
    };
    this.#queue = new WaitQueue(this.#ensemble, maxWaiters);
  }

  /**
   * Acquires a lock on one resource, or on several at once: all of them or none. Waits up to `waitTimeoutMs`.
   *
   * @throws {WaitTimeoutError} when others held it all that time
   * @throws {LockHeldError} when another owner holds it and `waitTimeoutMs` is 0
   * @throws {QuorumUnreachableError} when too few nodes answered
   * @throws {ConfigurationError} at once, when a node says that it can never work like this
   * @throws {QueueFullError} when `maxWaiters` wait already
   * @throws {TypeError | RangeError} for bad arguments; and the reason of `signal` when it aborts
   */
  acquire(resources: string | readonly string[], options?: LockOptions): Promise<Lock> {
    return this.#acquire(resources, options, false);
  }

  /**
   * Makes one attempt, without waiting for other owners.
   *
   * @returns the lock, or null when another owner holds one of the resources
   * @throws {QuorumUnreachableError} when too few nodes answered
   * @throws {ConfigurationError} at once, when a node says that it can never work like this
   * @throws {TypeError | RangeError} for bad arguments; and the reason of `signal` when it aborts
   */
  tryAcquire(resources: string | readonly string[], options?: LockOptions): Promise<Lock | null> {
    return this.#acquire(resources, options, false, true);
  }

  /**
   * Runs a routine under a lock, which is extended by itself meanwhile and released afterwards. A release that too few
   * nodes answer is not an error here: the lock then ends with its ttl. See `awaitRelease` for whether to wait for it.
   *
   * @returns what the routine returns
   * @throws what the routine throws; what {@link Redlock.acquire} throws
   * @throws {LockLostError} when the routine has ended well, but the lock had been lost before
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
    if (typeof routine !== "function") throw new TypeError(`routine must be a function, not ${describe(routine)}`);
    const lock = await this.#acquire(resources, options, true);
    try {
      const result = await routine(lock);
      if (lock.lost !== undefined) throw lock.lost;
      return result;
    } finally {
      await lock[Symbol.asyncDispose]();
    }
  }

  /**
   * Tells who holds a resource, node by node, and what the majority says. Nodes that do not answer within
   * `nodeTimeoutMs` are part of the answer.
   *
   * @throws {TypeError | RangeError} for a bad resource
   */
  async inspect(resource: string): Promise<Inspection> {
    parseResources([resource]);
    return inspectResource(this.#ensemble, resource, this.#settings);
  }

  #acquire(names: Names, options: LockOptions | undefined, isUsing: boolean): Promise<HeldLock>;
  #acquire(names: Names, options: LockOptions | undefined, isUsing: false, isTry: true): Promise<HeldLock | null>;
  async #acquire(names: Names, options: LockOptions | undefined, isUsing: boolean, isTry = false) {
    const resources = parseResources(names);
    const { clock, observer, nodes } = this.#ensemble;
    const settings = options === undefined ? this.#settings : withOptions(this.#settings, options, nodes.length);
    const calledAt = momentOf(clock);
    const place = new Place(this.#queue, resources, settings);
    try {
      settings.signal?.throwIfAborted();
      if (settings.waitTimeoutMs > 0 && !isTry) place.wait();
      let startedAt = calledAt;
      let mayAsk = true;
      if (this.#queue.isCrowded) {
        mayAsk = await place.turn(place.isWaiting ? calledAt.monotonicMs + settings.waitTimeoutMs : Infinity);
        settings.signal?.throwIfAborted();
        startedAt = momentOf(clock);
      }
      const isDue = mayAsk && place.beginAttempt(startedAt.monotonicMs);
      let result = isDue ? await attempt(place, startedAt) : undefined;
      if (isTry && result?.outcome === "held" && !settings.signal?.aborted) {
        observer.acquireFailed?.({
          resources,
          waitedMs: this.#elapsedMs(calledAt),
          error: lossError(place, result),
        });
        return null;
      }
      if (result?.outcome !== "acquired") result = await waitForLock(place, calledAt, result, startedAt);
      const lock = new HeldLock(place, result);
      if (settings.autoExtend ?? isUsing) lock.startAutoExtend();
      observer.acquired?.({ ...lock.facts, attempts: place.attempts, waitedMs: this.#elapsedMs(calledAt) });
      return lock;
    } catch (error) {
      place.leave();
      observer.acquireFailed?.({ resources, waitedMs: this.#elapsedMs(calledAt), error });
      throw error;
    }
  }

  #elapsedMs(since: Moment): number {
    return this.#ensemble.clock.monotonicMs() - since.monotonicMs;
  }
}

type Names = string | readonly string[];

type Routine<T> = (lock: Lock) => T | PromiseLike<T>;

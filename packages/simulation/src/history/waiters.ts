import type { ClientProcess } from "../world/client-process.ts";
import type { LockMode, WaiterRecord, WaitingTerms } from "./history.ts";
import { LockCounts, type LockMap } from "./lock-map.ts";
import { isPartOf, overlap } from "./resources.ts";

/** The lock that a call asks for, and how long it waits. */
export interface Call {
  readonly resources: readonly string[];
  /** Default `exclusive`. */
  readonly mode?: LockMode | undefined;
  /** How long it waits at most, in milliseconds: until it times out or its caller gives up. */
  readonly timeoutMs: number;
}

/** Core sends requests for this many calls at the same time, and holds further calls back. */
const inFlightMax = 128;

/** Measures the longest stretch of time during which a condition holds. */
class Stretch {
  /** The longest completed stretch, in milliseconds. */
  longestMs = 0;
  #sinceMs: number | undefined;

  /** Notes whether the condition holds from `nowMs` on. */
  set(holds: boolean, nowMs: number): void {
    if (holds === (this.#sinceMs !== undefined)) return;
    if (this.#sinceMs !== undefined) this.longestMs = Math.max(this.longestMs, nowMs - this.#sinceMs);
    this.#sinceMs = holds ? nowMs : undefined;
  }
}

/** A call that waits, or has waited. */
export class Waiter implements WaiterRecord {
  readonly client: string;
  readonly resources: readonly string[];
  readonly mode: LockMode;
  readonly timeoutMs: number;
  readonly attemptMs: number;
  readonly backOffMs: number;
  readonly pollMs: number;
  readonly splitMs: number;
  readonly undoMs: number;
  readonly isNotified: boolean;
  readonly calledAtMs: number;
  endedAtMs: number | undefined;
  attempt: string | undefined;
  waitedMs = 0;
  readonly #idle = new Stretch();
  readonly #free = new Stretch();
  readonly #process: ClientProcess;
  readonly #calledAtAwakeMs: number;

  constructor(
    process: ClientProcess,
    client: string,
    { resources, mode = "exclusive", timeoutMs }: Call,
    terms: WaitingTerms,
  ) {
    this.#process = process;
    this.client = client;
    this.resources = resources.toSorted();
    this.mode = mode;
    this.timeoutMs = timeoutMs;
    this.attemptMs = terms.attemptMs;
    this.backOffMs = terms.backOffMs;
    this.pollMs = terms.pollMs;
    this.splitMs = terms.splitMs;
    this.undoMs = terms.undoMs;
    this.isNotified = terms.isNotified;
    this.calledAtMs = process.nowMs;
    this.#calledAtAwakeMs = process.awakeMs;
  }

  get idleMs(): number {
    return this.#idle.longestMs;
  }

  get freeMs(): number {
    return this.#free.longestMs;
  }

  /** Notes whether no attempt is made for it although no call or lock of its own process blocks it. */
  setIdle(isIdle: boolean): void {
    this.#idle.set(isIdle, this.#process.awakeMs);
  }

  /** Notes whether all of its resources are free for it. */
  setFree(isFree: boolean): void {
    this.#free.set(isFree, this.#process.awakeMs);
  }

  /** Notes that it got its lock by `attempt`, or its error if that is undefined. */
  end(attempt: string | undefined): void {
    this.setIdle(false);
    this.endedAtMs = this.#process.nowMs;
    this.waitedMs = this.#process.awakeMs - this.#calledAtAwakeMs;
    this.attempt = attempt;
  }
}

/**
 * The calls of one process that wait for locks, as an outside observer sees them. A call is certainly the next if no
 * earlier call of its process wants any of its resources.
 */
export class Waiters {
  readonly #process: ClientProcess;
  readonly #name: string;
  /** How its core waits. */
  readonly terms: WaitingTerms;
  readonly #locks: LockMap;
  readonly #records: Waiter[];
  /** The calls that wait for each resource, in order of arrival. */
  readonly #queues = new Map<string, Set<Waiter>>();
  /** The locks of this process, by their owners. */
  readonly #held = new Map<string, Pick<Waiter, "resources" | "mode">>();
  /** How many of these locks cover each resource. */
  readonly #holders = new LockCounts();
  /** The resources of attempts under way, by their owners. */
  readonly #tried = new Map<string, readonly string[]>();
  readonly #ended = new Set<string>();
  #waiting = 0;

  /**
   * @param process the process that makes the calls
   * @param name the name of the process in the records
   * @param terms how its core waits
   * @param locks the locks of all processes
   * @param records receives all calls, in order of arrival
   */
  constructor(process: ClientProcess, name: string, terms: WaitingTerms, locks: LockMap, records: Waiter[]) {
    this.#process = process;
    this.#name = name;
    this.terms = terms;
    this.#locks = locks;
    this.#records = records;
  }

  /** Adds a call that starts to wait. */
  enter(call: Call): Waiter {
    const waiter = new Waiter(this.#process, this.#name, call, { ...this.terms, attemptMs: this.#attemptMs });
    this.#records.push(waiter);
    for (const resource of waiter.resources) {
      const queue = this.#queues.get(resource) ?? new Set();
      this.#queues.set(resource, queue.add(waiter));
    }
    this.#waiting += 1;
    this.#locks.join(waiter);
    this.#updateIdle(waiter.resources);
    return waiter;
  }

  /** Notes that a call got its lock. While it is held, calls that it excludes need not make attempts. */
  succeed(waiter: Waiter, attempt: string, owner: string): void {
    this.#dequeue(waiter);
    waiter.end(attempt);
    if (!this.#ended.has(owner)) this.#hold(owner, waiter);
    this.#updateIdle(waiter.resources);
  }

  /** Notes that a call is over: without its lock, it gets its error. */
  leave(waiter: Waiter): void {
    if (waiter.endedAtMs !== undefined) return;
    this.#dequeue(waiter);
    waiter.end(undefined);
    this.#updateIdle(waiter.resources);
  }

  /** Notes that an attempt starts. */
  tries(owner: string, resources: readonly string[]): void {
    this.#tried.set(owner, resources);
    this.#updateIdle(resources);
  }

  /** Notes that an attempt is settled, won or not. */
  settles(owner: string): void {
    const resources = this.#tried.get(owner);
    this.#tried.delete(owner);
    if (resources !== undefined) this.#updateIdle(resources);
  }

  /** Notes that a lock was released or lost, possibly before its caller got it. */
  ends(owner: string): void {
    this.#ended.add(owner);
    const held = this.#held.get(owner);
    if (held === undefined) return;
    const { resources, mode } = held;
    this.#held.delete(owner);
    this.#holders.add(resources, mode, -1);
    this.#locks.unlock(resources, mode);
    this.#updateIdle(resources);
  }

  /** Ends the locks of a process that has died, once they have expired. */
  endIfDead(): void {
    if (this.#process.isDead) for (const owner of [...this.#held.keys()]) this.ends(owner);
  }

  /** Whether a claim on these resources may be the first part of a waiter's collection. */
  isCollected(resources: readonly string[]): boolean {
    const [first = ""] = resources;
    return [...(this.#queues.get(first) ?? [])].some((waiter) => isPartOf(resources, waiter.resources));
  }

  #hold(owner: string, { resources, mode }: Waiter): void {
    this.#held.set(owner, { resources, mode });
    this.#holders.add(resources, mode, 1);
    this.#locks.lock(resources, mode);
  }

  #dequeue(waiter: Waiter): void {
    for (const resource of waiter.resources) this.#queues.get(resource)?.delete(waiter);
    this.#waiting -= 1;
    this.#locks.leave(waiter);
  }

  /** Updates, for the next waiter of each of these resources, whether an attempt is being made for it. */
  #updateIdle(resources: readonly string[]): void {
    for (const resource of resources) {
      const next = this.#first(resource);
      if (next === undefined) continue;
      const isNext = next.resources.every(
        (each) => this.#first(each) === next && !this.#holders.exclude(each, next.mode),
      );
      next.setIdle(isNext && !this.#isSaturated && !this.#isTried(next));
    }
  }

  get #isSaturated(): boolean {
    return this.#waiting + this.#held.size > inFlightMax;
  }

  /** How long an attempt may take, including the time for which it is held back. */
  get #attemptMs(): number {
    return this.terms.attemptMs * (1 + Math.floor((this.#waiting + this.#held.size) / inFlightMax));
  }

  #first(resource: string): Waiter | undefined {
    return this.#queues.get(resource)?.values().next().value;
  }

  /**
   * Whether an attempt for a call is under way. For several resources, an attempt for any one counts: it may be passed.
   */
  #isTried(waiter: Waiter): boolean {
    const isAlone = waiter.resources.length === 1;
    for (const resources of this.#tried.values()) {
      if ((!isAlone || resources.length === 1) && overlap(waiter, { resources })) return true;
    }
    return false;
  }
}

import type { ClientProcess } from "../world/client-process.ts";
import { isPartOf, overlap, type WaiterRecord } from "./history.ts";
import type { LockMap } from "./lock-map.ts";

/** What a call says of how it waits. */
export interface Call {
  readonly resources: readonly string[];
  /** How long it waits at the most, in milliseconds: until its time is up, or its caller gives up. */
  readonly timeoutMs: number;
}

/** How a process waits. */
export interface WaitingTerms {
  /** How long the longest attempt takes, in milliseconds. */
  readonly attemptMs: number;
  /** The longest delay between attempts, in milliseconds. */
  readonly backOffMs: number;
  /** Whether enough nodes notify it of releases. */
  readonly isNotified: boolean;
}

/** So many calls may ask the nodes at the same time. If more are under way, some are held back. */
const mostAtOnce = 128;

/** Measures the longest stretch of time for which something is so. */
class Stretch {
  #longestMs = 0;
  #sinceMs: number | undefined;

  /** How long the longest of those lasted that are over, in milliseconds. */
  get longestMs(): number {
    return this.#longestMs;
  }

  /** From now on it is so, or not. */
  set(isSo: boolean, nowMs: number): void {
    if (isSo === (this.#sinceMs !== undefined)) return;
    if (this.#sinceMs !== undefined) this.#longestMs = Math.max(this.#longestMs, nowMs - this.#sinceMs);
    this.#sinceMs = isSo ? nowMs : undefined;
  }
}

/** A call that waits, or has waited. */
export class Waiter implements WaiterRecord {
  readonly client: string;
  readonly resources: readonly string[];
  readonly timeoutMs: number;
  readonly attemptMs: number;
  readonly backOffMs: number;
  readonly isNotified: boolean;
  readonly calledAtMs: number;
  endedAtMs: number | undefined;
  attempt: string | undefined;
  waitedMs = 0;
  readonly #idle = new Stretch();
  readonly #free = new Stretch();
  readonly #process: ClientProcess;
  readonly #calledAtAwakeMs: number;

  constructor(process: ClientProcess, { resources, timeoutMs }: Call, terms: WaitingTerms) {
    this.#process = process;
    this.client = process.name;
    this.resources = resources.toSorted();
    this.timeoutMs = timeoutMs;
    this.attemptMs = terms.attemptMs;
    this.backOffMs = terms.backOffMs;
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

  /** Whether nothing is tried for it although nothing of its own process is in its way. */
  setIdle(isIdle: boolean): void {
    this.#idle.set(isIdle, this.#process.awakeMs);
  }

  /** Whether there is no lock on any of its resources. */
  setFree(isFree: boolean): void {
    this.#free.set(isFree, this.#process.awakeMs);
  }

  /** It has got its lock, by that attempt, or its error. */
  end(attempt: string | undefined): void {
    this.setIdle(false);
    this.endedAtMs = this.#process.nowMs;
    this.waitedMs = this.#process.awakeMs - this.#calledAtAwakeMs;
    this.attempt = attempt;
  }
}

/**
 * The calls of one process that wait for locks, as somebody sees them who stands beside it. A call is certainly the next
 * when no earlier one of its process wants any of its resources.
 */
export class Waiters {
  readonly #process: ClientProcess;
  /** How its core waits. */
  readonly terms: WaitingTerms;
  readonly #locks: LockMap;
  readonly #records: Waiter[];
  /** Those who wait for each resource, in the order in which they came. */
  readonly #queues = new Map<string, Set<Waiter>>();
  /** The locks of this process, by their owners. */
  readonly #held = new Map<string, readonly string[]>();
  /** How many of them are on each resource. */
  readonly #holders = new Map<string, number>();
  /** What attempts that are under way try to lock, by their owners. */
  readonly #tried = new Map<string, readonly string[]>();
  readonly #ended = new Set<string>();
  #waiting = 0;

  /**
   * @param process whose calls these are
   * @param terms how its core waits
   * @param locks the locks of all processes
   * @param records gets all calls, in their order
   */
  constructor(process: ClientProcess, terms: WaitingTerms, locks: LockMap, records: Waiter[]) {
    this.#process = process;
    this.terms = terms;
    this.#locks = locks;
    this.#records = records;
  }

  /** A call begins to wait. */
  enter(call: Call): Waiter {
    const waiter = new Waiter(this.#process, call, { ...this.terms, attemptMs: this.#attemptMs });
    this.#records.push(waiter);
    for (const resource of waiter.resources) {
      const queue = this.#queues.get(resource) ?? new Set();
      this.#queues.set(resource, queue.add(waiter));
    }
    this.#waiting += 1;
    this.#locks.join(waiter);
    this.#look(waiter.resources);
    return waiter;
  }

  /** A call gets its lock. As long as that is held, others of this process may wait for its end instead of trying. */
  succeed(waiter: Waiter, attempt: string, owner: string): void {
    this.#dequeue(waiter);
    waiter.end(attempt);
    if (!this.#ended.has(owner)) this.#hold(owner, waiter.resources);
    this.#look(waiter.resources);
  }

  /** A call is over. If it has not got its lock, it gets its error. */
  leave(waiter: Waiter): void {
    if (waiter.endedAtMs !== undefined) return;
    this.#dequeue(waiter);
    waiter.end(undefined);
    this.#look(waiter.resources);
  }

  /** An attempt begins. */
  tries(owner: string, resources: readonly string[]): void {
    this.#tried.set(owner, resources);
    this.#look(resources);
  }

  /** An attempt has come to something, or to nothing. */
  settles(owner: string): void {
    const resources = this.#tried.get(owner);
    this.#tried.delete(owner);
    if (resources !== undefined) this.#look(resources);
  }

  /** A lock has been released or lost, perhaps before its caller got it. */
  ends(owner: string): void {
    this.#ended.add(owner);
    const resources = this.#held.get(owner);
    if (resources === undefined) return;
    this.#held.delete(owner);
    for (const resource of resources) this.#holders.set(resource, (this.#holders.get(resource) ?? 0) - 1);
    this.#locks.unlock(resources);
    this.#look(resources);
  }

  /** If its process has died, what it held has expired by now, and nobody waits any more. */
  endIfDead(): void {
    if (this.#process.isDead) for (const owner of [...this.#held.keys()]) this.ends(owner);
  }

  /** Whether a claim on these resources may be the beginning of what a waiter collects. */
  isCollected(resources: readonly string[]): boolean {
    const [first = ""] = resources;
    return [...(this.#queues.get(first) ?? [])].some((waiter) => isPartOf(resources, waiter.resources));
  }

  #hold(owner: string, resources: readonly string[]): void {
    this.#held.set(owner, resources);
    for (const resource of resources) this.#holders.set(resource, (this.#holders.get(resource) ?? 0) + 1);
    this.#locks.lock(resources);
  }

  #dequeue(waiter: Waiter): void {
    for (const resource of waiter.resources) this.#queues.get(resource)?.delete(waiter);
    this.#waiting -= 1;
    this.#locks.leave(waiter);
  }

  /** Something has changed for those who wait for these resources: looks whether something is tried for the next. */
  #look(resources: readonly string[]): void {
    for (const resource of resources) {
      const next = this.#first(resource);
      if (next === undefined) continue;
      const isNext = next.resources.every((each) => this.#first(each) === next && !this.#holders.get(each));
      next.setIdle(isNext && !this.#isCrowded && !this.#isTried(next));
    }
  }

  get #isCrowded(): boolean {
    return this.#waiting + this.#held.size > mostAtOnce;
  }

  /** How long an attempt may take, also one that is held back until there is room for it. */
  get #attemptMs(): number {
    return this.terms.attemptMs * (1 + Math.floor((this.#waiting + this.#held.size) / mostAtOnce));
  }

  #first(resource: string): Waiter | undefined {
    return this.#queues.get(resource)?.values().next().value;
  }

  /** Whether an attempt is under way for a call; if it wants several resources, for any of them: others may pass it. */
  #isTried(waiter: Waiter): boolean {
    const isAlone = waiter.resources.length === 1;
    for (const resources of this.#tried.values()) {
      if ((!isAlone || resources.length === 1) && overlap(waiter, { resources })) return true;
    }
    return false;
  }
}

import type { Clock } from "../clock.ts";
import { failureMessage, QueueFullError } from "../errors.ts";
import { Pause } from "../pause.ts";

/** A place in the queue. */
export class Waiter {
  readonly resources: readonly string[];
  readonly #queue: WaitQueue;
  readonly #pause: Pause;
  #isNudged = false;

  /**
   * @param queue where it stands
   * @param resources what it waits for
   * @param clock what measures its pauses
   */
  constructor(queue: WaitQueue, resources: readonly string[], clock: Clock) {
    this.#queue = queue;
    this.resources = resources;
    this.#pause = new Pause(clock);
  }

  /** Whether it need not wait for any earlier waiter: only then does it talk to the nodes. */
  get isFirst(): boolean {
    return this.#queue.isFirst(this);
  }

  /** Forgets the nudges so far: those that come during an attempt must count for the pause after it. */
  beginAttempt(): void {
    this.#isNudged = false;
  }

  /** Waits so long, or until its turn comes, a lock in its way ends, or the signal aborts. */
  async pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#isNudged) await this.#pause.wait(delayMs, signal);
  }

  /** Says that it may be worth trying now. */
  nudge(): void {
    this.#isNudged = true;
    this.#pause.wake();
  }

  leave(): void {
    this.#queue.leave(this);
  }
}

/**
 * The waiters of one `Redlock`: first come, first served for each resource. A waiter for several resources stands in
 * the line of each of them, and lets those pass who want only part of them: it waits for `a` and `b` while somebody
 * holds `a`, who may be just about to ask for `b` as well.
 */
export class WaitQueue {
  readonly #clock: Clock;
  readonly #maxWaiters: number;
  readonly #lines = new Map<string, Set<Waiter>>();
  #size = 0;

  /**
   * @param clock what measures the pauses of waiters
   * @param maxWaiters how many there may be
   */
  constructor(clock: Clock, maxWaiters: number) {
    this.#clock = clock;
    this.#maxWaiters = maxWaiters;
  }

  /** @throws {QueueFullError} */
  enter(resources: readonly string[]): Waiter {
    if (this.#size >= this.#maxWaiters) {
      const remark = `${this.#size} calls are under way, as many as maxWaiters`;
      throw new QueueFullError(failureMessage("lock", resources, [], 0, remark), resources);
    }
    this.#size += 1;
    const waiter = new Waiter(this, resources, this.#clock);
    for (const resource of resources) {
      const line = this.#lines.get(resource) ?? new Set();
      this.#lines.set(resource, line.add(waiter));
    }
    return waiter;
  }

  /** Whether it may pass all earlier waiters for the same resources: those that want all that it wants, and more. */
  isFirst(waiter: Waiter): boolean {
    const wanted = waiter.resources;
    for (const resource of wanted) {
      for (const { resources } of this.#lineOf(resource)) {
        if (resources === wanted) break;
        const mayPass = wanted.length < resources.length && wanted.every((name) => resources.includes(name));
        if (!mayPass) return false;
      }
    }
    return true;
  }

  leave(waiter: Waiter): void {
    this.#size -= 1;
    for (const resource of waiter.resources) {
      const line = this.#lines.get(resource);
      line?.delete(waiter);
      if (line?.size === 0) this.#lines.delete(resource);
    }
    this.nudge(waiter.resources);
  }

  /** Wakes those whose turn it is now: a lock on these resources has ended, or one ahead of them has left. */
  nudge(resources: readonly string[]): void {
    for (const resource of resources) {
      for (const waiter of this.#lineOf(resource)) {
        if (waiter.isFirst) waiter.nudge();
        if (waiter.resources.length === 1) break; // all behind it want this resource, too
      }
    }
  }

  #lineOf(resource: string): Iterable<Waiter> {
    return this.#lines.get(resource) ?? [];
  }
}

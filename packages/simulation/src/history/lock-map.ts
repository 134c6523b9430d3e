import type { LockMode } from "./history.ts";

/** A call that waits for resources. */
interface Wanting {
  readonly resources: readonly string[];
  readonly mode: LockMode;
  /** Called with whether its resources are free for it. */
  setFree(isFree: boolean): void;
}

/** How many locks, or calls, there are for each resource, by their mode. */
export class LockCounts {
  readonly #counts = { exclusive: new Map<string, number>(), shared: new Map<string, number>() };

  /** Adds `more` of a mode for each of these resources. */
  add(resources: readonly string[], mode: LockMode, more: 1 | -1): void {
    const counts = this.#counts[mode];
    for (const resource of resources) counts.set(resource, (counts.get(resource) ?? 0) + more);
  }

  /** Whether there is one of this mode for the resource. */
  has(resource: string, mode: LockMode): boolean {
    return (this.#counts[mode].get(resource) ?? 0) > 0;
  }

  /** Whether there is one for the resource that excludes a lock of this mode. */
  exclude(resource: string, mode: LockMode): boolean {
    return this.has(resource, "exclusive") || (mode === "exclusive" && this.has(resource, "shared"));
  }
}

/** All locks of a world, and the calls that wait for their resources. */
export class LockMap {
  readonly #locks = new LockCounts();
  readonly #wanted = new LockCounts();
  readonly #waiters = new Map<string, Set<Wanting>>();
  #isCalm = false;

  /** Starts counting free resources: all faults are over, and what they left behind is gone. */
  calmDown(): void {
    this.#isCalm = true;
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) this.#update(waiter);
  }

  /** Adds a call that starts to wait. */
  join(waiter: Wanting): void {
    for (const resource of waiter.resources) {
      const waiters = this.#waiters.get(resource) ?? new Set();
      this.#waiters.set(resource, waiters.add(waiter));
    }
    this.#wanted.add(waiter.resources, waiter.mode, 1);
    this.#updateAll(waiter.resources);
  }

  /** Removes a call that has stopped waiting. */
  leave(waiter: Wanting): void {
    for (const resource of waiter.resources) this.#waiters.get(resource)?.delete(waiter);
    this.#wanted.add(waiter.resources, waiter.mode, -1);
    waiter.setFree(false);
    this.#updateAll(waiter.resources);
  }

  /** Adds a lock on these resources. */
  lock(resources: readonly string[], mode: LockMode): void {
    this.#locks.add(resources, mode, 1);
    this.#updateAll(resources);
  }

  /** Removes a lock that has ended. */
  unlock(resources: readonly string[], mode: LockMode): void {
    this.#locks.add(resources, mode, -1);
    this.#updateAll(resources);
  }

  #updateAll(resources: readonly string[]): void {
    for (const resource of resources) for (const waiter of this.#waiters.get(resource) ?? []) this.#update(waiter);
  }

  #update(waiter: Wanting): void {
    const { resources, mode } = waiter;
    waiter.setFree(this.#isCalm && resources.every((resource) => this.#isFree(resource, mode)));
  }

  /** Whether a lock of this mode is available: while a call for an exclusive lock waits, readers may not join others. */
  #isFree(resource: string, mode: LockMode): boolean {
    if (this.#locks.exclude(resource, mode)) return false;
    return !(this.#locks.has(resource, "shared") && this.#wanted.has(resource, "exclusive"));
  }
}

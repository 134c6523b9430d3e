/** A call that waits for resources. */
interface Wanting {
  readonly resources: readonly string[];
  /** Called with whether all of its resources are free of locks. */
  setFree(isFree: boolean): void;
}

/** All locks of a world, and the calls that wait for their resources. */
export class LockMap {
  readonly #locks = new Map<string, number>();
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
    this.#update(waiter);
  }

  /** Removes a call that has stopped waiting. */
  leave(waiter: Wanting): void {
    for (const resource of waiter.resources) this.#waiters.get(resource)?.delete(waiter);
    waiter.setFree(false);
  }

  /** Adds a lock on these resources. */
  lock(resources: readonly string[]): void {
    this.#count(resources, 1);
  }

  /** Removes a lock that has ended. */
  unlock(resources: readonly string[]): void {
    this.#count(resources, -1);
  }

  #count(resources: readonly string[], more: number): void {
    for (const resource of resources) this.#locks.set(resource, (this.#locks.get(resource) ?? 0) + more);
    for (const resource of resources) for (const waiter of this.#waiters.get(resource) ?? []) this.#update(waiter);
  }

  #update(waiter: Wanting): void {
    waiter.setFree(this.#isCalm && waiter.resources.every((resource) => !this.#locks.get(resource)));
  }
}

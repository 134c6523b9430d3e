/** A call that waits for resources. */
interface Wanting {
  readonly resources: readonly string[];
  /** Is told whether there is no lock on any of its resources. */
  setFree(isFree: boolean): void;
}

/** All locks of a world, whoever holds them, and the calls that wait for what they cover. */
export class LockMap {
  readonly #locks = new Map<string, number>();
  readonly #waiters = new Map<string, Set<Wanting>>();
  #isCalm = false;

  /** All faults are over, and what they left behind is gone: what is free from now on can be had. */
  calmDown(): void {
    this.#isCalm = true;
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) this.#tell(waiter);
  }

  /** A call begins to wait. */
  join(waiter: Wanting): void {
    for (const resource of waiter.resources) {
      const waiters = this.#waiters.get(resource) ?? new Set();
      this.#waiters.set(resource, waiters.add(waiter));
    }
    this.#tell(waiter);
  }

  /** It waits no longer. */
  leave(waiter: Wanting): void {
    for (const resource of waiter.resources) this.#waiters.get(resource)?.delete(waiter);
    waiter.setFree(false);
  }

  /** There is a lock on these resources. */
  lock(resources: readonly string[]): void {
    this.#count(resources, 1);
  }

  /** It has ended. */
  unlock(resources: readonly string[]): void {
    this.#count(resources, -1);
  }

  #count(resources: readonly string[], more: number): void {
    for (const resource of resources) this.#locks.set(resource, (this.#locks.get(resource) ?? 0) + more);
    for (const resource of resources) for (const waiter of this.#waiters.get(resource) ?? []) this.#tell(waiter);
  }

  #tell(waiter: Wanting): void {
    waiter.setFree(this.#isCalm && waiter.resources.every((resource) => !this.#locks.get(resource)));
  }
}

import type { Lock } from "@holdfast/core";

/** What the holders of one test saw. All of them run in this process, and so share one order and one clock. */
export interface Ledger {
  /** Records that a call has returned this lock, and judges it by the locks before. */
  enter(lock: Lock): void;
  /** Records that the holder no longer relies on the lock. */
  leave(lock: Lock): void;
  /** The number of locks so far. */
  readonly locks: number;
  /** Locks that were granted while an earlier lock on one of their resources was held and valid. */
  readonly overlaps: readonly string[];
  /** Locks whose fencing token was not larger than that of an earlier lock on one of their resources. */
  readonly fenceFaults: readonly string[];
  /** The largest fencing token of each resource. */
  readonly fences: ReadonlyMap<string, number>;
}

/** Creates an empty ledger. */
export function createLedger(): Ledger {
  const holders = new Map<string, Lock>();
  const fences = new Map<string, number>();
  const overlaps: string[] = [];
  const fenceFaults: string[] = [];
  let locks = 0;
  return {
    enter(lock) {
      locks += 1;
      for (const resource of lock.resources) {
        const remainingMs = holders.get(resource)?.remainingMs() ?? 0;
        if (remainingMs > 0) overlaps.push(`${resource} was granted while it was held for another ${remainingMs} ms`);
        const before = fences.get(resource) ?? 0;
        if (lock.fence <= before) fenceFaults.push(`${resource} got token ${lock.fence} after ${before}`);
        holders.set(resource, lock);
        fences.set(resource, Math.max(lock.fence, before));
      }
    },
    leave(lock) {
      for (const resource of lock.resources) if (holders.get(resource) === lock) holders.delete(resource);
    },
    get locks() {
      return locks;
    },
    overlaps,
    fenceFaults,
    fences,
  };
}

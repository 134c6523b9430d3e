import type { Lease } from "./lease.ts";

/** What automatic extension works with. */
export interface AutoExtendTerms {
  readonly lease: Lease;
  readonly ttlMs: number;
  readonly maxHoldMs: number;
  /** How long the lock has been held, in milliseconds. */
  heldMs(): number;
  /**
   * Extends for the ttl that it is told before each try, until one succeeds or it is told that there is nothing to gain;
   * rejects when the lock has ended.
   */
  extend(nextTtlMs: () => number | undefined): Promise<void>;
  /** Hears that the lock has been extended as far as `maxHoldMs` allows. */
  onLimit(): void;
}

/**
 * Extends a lock each time half of its validity has passed: early enough for several more tries when nodes do not
 * answer. The last extension is cut so that the lock ends with `maxHoldMs`. It stops with the lease.
 */
export function autoExtend(terms: AutoExtendTerms): void {
  const { lease, ttlMs, maxHoldMs, heldMs, extend, onLimit } = terms;
  const nextTtlMs = (): number | undefined => {
    const nextMs = Math.min(ttlMs, Math.floor(maxHoldMs - heldMs()));
    return lease.wouldGain(nextMs) ? nextMs : undefined;
  };
  const wait = (): void => lease.ringAt(lease.remainingMs() / 2, ring);
  const ring = (): void => {
    const nextMs = nextTtlMs();
    if (nextMs !== undefined) extend(nextTtlMs).then(nextMs < ttlMs ? onLimit : wait, () => {});
    else if (maxHoldMs - heldMs() < ttlMs) onLimit();
    else wait(); // it was extended by hand for longer
  };
  wait();
}

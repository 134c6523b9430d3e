import type { Lease } from "./lease.ts";
import type { Settings } from "./options.ts";

/**
 * Extends a lock each time half of its validity has passed: early enough for several more tries when nodes do not
 * answer. The last extension is cut so that the lock ends with `maxHoldMs`. It stops with the lease.
 *
 * @param lease of the lock
 * @param settings that it was acquired with
 * @param heldMs how long it has been held, in milliseconds
 * @param extend extends for the ttl that it is told before each try, until one succeeds or it is told that there is
 *   nothing to gain; rejects when the lock has ended
 * @param onLimit hears that the lock has been extended as far as `maxHoldMs` allows
 */
export function autoExtend(
  lease: Lease,
  { ttlMs, maxHoldMs }: Settings,
  heldMs: () => number,
  extend: (nextTtlMs: () => number | undefined) => Promise<void>,
  onLimit: () => void,
): void {
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

import type { LockRecord, StaleClaim } from "../history/history.ts";
import { overlap } from "../history/resources.ts";

/**
 * Whether a lock may have a smaller token than one that was granted before it was requested, because it is shared and
 * joined a claim on a node that had lost its counters.
 *
 * A grant that joins nobody is at least the hint of its attempt, the time of its client, and so above all tokens granted
 * before, if the clock is right. A grant that joins others is as high as the counter, which is at least the hint of the
 * claim that they began with. On a node that keeps its counters, this is above the tokens before as well. If the node
 * has lost them, it is only if the attempt of that claim began after the earlier lock was granted.
 */
export function mayJoinStaleClaim(earlier: LockRecord, later: LockRecord, claims: readonly StaleClaim[]): boolean {
  if (later.mode === "exclusive") return false;
  return claims.some((claim) => {
    const isBetween = earlier.startedAtMs < claim.lostAtMs && claim.grantedAtMs < later.grantedAtMs;
    const isLow = claim.requestedAtMs < earlier.grantedAtMs && claim.fence <= later.fence;
    return isBetween && isLow && overlap(claim, earlier) && overlap(claim, later);
  });
}

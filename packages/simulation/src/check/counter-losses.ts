import type { CounterLoss, LockRecord, StaleClaim } from "../history/history.ts";
import { overlap } from "../history/resources.ts";

/**
 * Whether the tokens of two locks may be in any order, because the only node that granted both may have forgotten its
 * counter between them, and may have granted the second one before it was healed. The tokens of all other locks are in
 * order, so the guarantee holds again for each lock that is requested after the healing.
 */
export function mayBeUnordered(a: LockRecord, b: LockRecord, losses: readonly CounterLoss[]): boolean {
  return losses.some((loss) => mayLose(a, b, loss) || mayLose(b, a, loss));
}

/** Whether a node may have granted `first` before it lost its counters, and `second` while it lacked them. */
function mayLose(first: LockRecord, second: LockRecord, loss: CounterLoss): boolean {
  const { lostAtMs, votesFromMs, healedAtMs = Infinity } = loss;
  if (votesFromMs === undefined || votesFromMs >= healedAtMs) return false;
  return first.startedAtMs < lostAtMs && second.startedAtMs < healedAtMs && second.grantedAtMs > votesFromMs;
}

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

import type { CounterLoss, LockRecord } from "../history/history.ts";

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

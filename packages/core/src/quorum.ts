/**
 * The least number of nodes that any two locks must share: ⌊N/2⌋+1, so that two quorums always have a node in common
 * (distlock page, "The Redlock Algorithm", step 3).
 */
export function majorityOf(nodeCount: number): number {
  return Math.floor(nodeCount / 2) + 1;
}

/** Whether so many nodes have dropped out that the rest is no quorum. */
export function isOutOfReach(dropped: number, nodeCount: number, quorum: number): boolean {
  return nodeCount - dropped < quorum;
}

/**
 * The least number of nodes that any two locks must share: ⌊N/2⌋+1, so that two quorums always have a node in common
 * (distlock page, "The Redlock Algorithm", step 3).
 */
export function majorityOf(nodeCount: number): number {
  return Math.floor(nodeCount / 2) + 1;
}

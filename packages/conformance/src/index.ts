/** The test suite that decides whether something is a Holdfast lock node. */

export { describeLockNode } from "./describe-lock-node.ts";
export type { DescribeLockNodeOptions, LockNodeLimits, LockNodeSubject } from "./subject.ts";

/** The test suite that decides whether something is a Holdfast lock node. */

export { describeLockNode } from "./describe-lock-node.ts";
export { type DescribeSuiteBitesOptions, describeSuiteBites } from "./describe-suite-bites.ts";
export { mistakes } from "./mistakes/index.ts";
export type { Mistake, SubjectPart } from "./mistakes/mistake.ts";
export type { DescribeLockNodeOptions, LockNodeLimits, LockNodeSubject, SubjectServer } from "./subject.ts";

/** The test suite for Holdfast lock nodes: tests every sentence of the `LockNode` contract. */

export type { BrokenNode, SubjectPart } from "./broken-nodes/broken-node.ts";
export { brokenNodes } from "./broken-nodes/index.ts";
export { type DescribeBrokenNodesOptions, describeBrokenNodes } from "./describe-broken-nodes.ts";
export { describeLockNode } from "./describe-lock-node.ts";
export { essentialTests } from "./essential-tests.ts";
export type {
  DescribeLockNodeOptions,
  LockNodeLimits,
  LockNodeSubject,
  OpenedNode,
  OpenNode,
  RivalModule,
  SizeLimit,
  SubjectServer,
} from "./subject.ts";

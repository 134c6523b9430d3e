/** Distributed locks with fencing tokens over a quorum of independent lock servers. */

export { type Clock, systemClock } from "./clock.ts";
export {
  ConfigurationError,
  EpochError,
  HoldfastError,
  InvalidReplyError,
  type LockError,
  LockHeldError,
  LockLostError,
  type LossReason,
  type NodeOutcome,
  NodeTimeoutError,
  QueueFullError,
  QuorumUnreachableError,
  RedlockClosedError,
  WaitTimeoutError,
} from "./errors.ts";
export type { FenceFloor, Floor, FloorRequest, ScannedClaim, ScanPortion, ScanRequest } from "./fence-floor.ts";
export type { Holder, Inspection, NodeInspection } from "./inspect.ts";
export type { ExtendOptions, Lock } from "./lock.ts";
// For authors of adapters
export type {
  AcquireReply,
  AcquireRequest,
  Denial,
  ExtendReply,
  ExtendRequest,
  Grant,
  LockNode,
  NodeRequest,
  NodeView,
  ReleaseReply,
  ReleaseRequest,
  ServerVote,
  ServerVotes,
  Sharer,
} from "./lock-node.ts";
export type { JointSet, NodeSet } from "./node-sets.ts";
export type {
  AcquiredEvent,
  AcquireFailedEvent,
  AttemptSettledEvent,
  ExtendedEvent,
  LockEvent,
  LostEvent,
  NodeFailedEvent,
  Observer,
  ReleasedEvent,
} from "./observer.ts";
export { defaultNodeTimeoutMs, type LockOptions, type RedlockOptions } from "./options.ts";
// For users
export { Redlock } from "./redlock.ts";
export type {
  AcquireHints,
  DenialHints,
  ReleaseHints,
  ReleaseNotifier,
  ReleaseReplyHints,
  Unwatch,
} from "./release-notifier.ts";

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
  type NodeSet,
  NodeTimeoutError,
  NotSentError,
  QueueFullError,
  QuorumUnreachableError,
  RedlockClosedError,
  TicketSpentError,
  WaitTimeoutError,
} from "./errors.ts";
export type { Health, Holder, Inspection, NodeHealth, NodeInspection } from "./inspect.ts";
export type { ClockReading } from "./lease.ts";
export type { ExtendOptions, Lock, TransferOptions } from "./lock.ts";
export type { LockNode } from "./lock-node.ts";
export type { JointSet } from "./node-sets.ts";
export type * from "./observer.ts";
export { type AdoptOptions, defaultNodeTimeoutMs, type LockOptions, type RedlockOptions } from "./options.ts";
export { Redlock } from "./redlock.ts";

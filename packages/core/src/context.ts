import type { Clock } from "./clock.ts";
import type { FirstLock } from "./first-lock.ts";
import type { LockNode, ServerVotes } from "./lock-node.ts";
import type { Observer } from "./observer.ts";
import type { OpenCalls } from "./quorum-call.ts";
import type { RequestLimit } from "./request-limit.ts";
import type { Quorum } from "./votes.ts";

/** The state that all operations of one `Redlock` share. */
export interface RedlockContext {
  /** The nodes of all sets. */
  readonly nodes: readonly LockNode[];
  /** The majority of each set. */
  readonly majority: Quorum;
  /** The epoch of the requests to acquire, if it is not 1. */
  readonly epoch: number | undefined;
  readonly clock: Clock;
  /** Never throws. */
  readonly observer: Observer;
  /** The highest fencing token seen so far. */
  readonly tokens: { highest: number };
  readonly limit: RequestLimit;
  readonly openCalls: OpenCalls;
  readonly firstLock: FirstLock;
  /** Passed along as `AcquireRequest.servers`. Only the nodes read and write it. */
  readonly servers: ServerVotes | undefined;
  /** The name of this `Redlock` in the waiting lists of the nodes. */
  readonly waiterName: string;
}

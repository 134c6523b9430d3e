import type { Clock } from "./clock.ts";
import type { FenceHint } from "./fence.ts";
import type { FirstLock } from "./first-lock.ts";
import type { LockNode, ServerVotes } from "./lock-node.ts";
import type { Observer } from "./observer.ts";
import type { Deadlines, QuorumCall, RequestsInFlight } from "./quorum-call.ts";

/** What all operations of one `Redlock` share. */
export interface RedlockContext {
  readonly nodes: readonly LockNode[];
  readonly clock: Clock;
  /** Never throws. */
  readonly observer: Observer;
  readonly fenceHint: FenceHint;
  readonly deadlines: Deadlines;
  readonly requests: RequestsInFlight;
  /** The calls of attempts that are under way. */
  readonly openCalls: Set<QuorumCall>;
  readonly firstLock: FirstLock;
  /** Kept by the nodes, for `AcquireRequest.servers`. */
  readonly servers: ServerVotes;
  /** The name of this `Redlock` in the waiting lists of the nodes. */
  readonly waiterName: string;
}

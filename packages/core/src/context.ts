import type { Clock } from "./clock.ts";
import type { FenceHint } from "./fence.ts";
import type { LockNode, ServerVotes } from "./lock-node.ts";
import type { Observer } from "./observer.ts";
import type { Deadlines, RequestsInFlight } from "./quorum-call.ts";

/** What all operations of one `Redlock` share. */
export interface RedlockContext {
  readonly nodes: readonly LockNode[];
  readonly clock: Clock;
  /** Never throws. */
  readonly observer: Observer;
  readonly fenceHint: FenceHint;
  readonly deadlines: Deadlines;
  readonly requests: RequestsInFlight;
  /**
   * Whether an attempt waits for all nodes, and not just for a quorum: until the first lock is granted, if nodes check their
   * servers. Whether a server stands in the list twice would otherwise be found by a race.
   */
  awaitsAllNodes: boolean;
  /** Kept by the nodes, for `AcquireRequest.servers`. */
  readonly servers: ServerVotes;
  /** The name of this `Redlock` in the waiting lists of the nodes. */
  readonly waiterName: string;
}

import type { FenceFloor } from "./fence-floor.ts";
import type {
  AcquireHints,
  DenialHints,
  ReleaseHints,
  ReleaseNotifier,
  ReleaseReplyHints,
} from "./release-notifier.ts";

/**
 * The contract between core and one lock server. Core counts the votes of N independent nodes, and requires two things
 * of each: every call is atomic on that node, and every reply is true at the moment when the node sends it.
 *
 * - A method resolves with a reply or rejects. A rejection is a *failure* (the node is down, broken or too slow), never
 *   a denial. With a `NotSentError`, the request has no effect, and will have none: core sends no release for it. After any
 *   other rejection of `acquire`, it sends one.
 * - When `acquire` rejects with a `ConfigurationError`, retrying cannot help: core ends the call immediately instead of
 *   continuing with the other nodes. When `extend` does, the node counts as failed, and the call ends immediately once
 *   no quorum is left.
 * - All nodes get the same request object.
 * - Requests of one client may overtake each other, as over a pool of connections or the streams of HTTP/2: a release may
 *   take effect before an acquire that was sent earlier. Each reply is true for the order in which they took effect, and
 *   core releases again when it learns of a late grant.
 * - The *fence counter* of a resource is whatever number of the node is read and raised for it. Several resources, or all,
 *   may share one, so it may advance at any moment for another resource. It never goes down, and advances whenever a
 *   resource that it covers passes to another owner. Nothing may assume that a counter stands still while its resource
 *   does: each reply reports the counter at its own moment, which may be higher than in an earlier reply. Attempts that
 *   share a counter at the same moment may need more round trips to agree on their tokens, and hundreds of them hardly
 *   succeed, so a node should have many more counters than locks that are acquired at once.
 * - An adapter may abort its own work after `timeoutMs`; core stops waiting by then anyway.
 * - A request that this page does not allow is rejected and changes nothing (`@holdfast/core/node` has the checks).
 *
 * Two parts are optional, and described separately: {@link ReleaseNotifier} for waiting clients, and {@link FenceFloor}
 * for servers that are replaced.
 *
 * The conformance suite (`@holdfast/conformance`) tests every sentence on this page.
 */
export interface LockNode extends ReleaseNotifier, FenceFloor {
  /** The node's name in errors, events and logs. Unique among the nodes of one `Redlock`. */
  readonly name: string;

  /**
   * Claims all the resources, or none. A claim on one of them *blocks* the request, unless it is a claim of `takeover`, or
   * a shared claim of another owner and the request is `shared`.
   *
   * - Nothing blocks it: hold all the resources for `owner` until `ttlMs` from now, set the fence counter of each to
   *   `max(1 + the highest of their counters, fenceHint)`, and grant with that counter. But if the request *joins* the
   *   shared claims of other owners on every one of the resources, set each counter to the highest of their counters
   *   instead: sharers may have the same fence, and would otherwise never agree on one.
   * - The same `owner` already holds them all (the command was resent): change nothing, and grant again with the highest of
   *   their counters.
   * - Otherwise: change nothing and deny.
   *
   * A node may deny a shared request that nothing blocks, in favour of a client that waits to hold the resource alone. A
   * node that ignores `shared` denies more than it must, and is safe.
   *
   * A `fenceHint` that is more than an hour above the highest of the counters is capped at the wall clock of the store in
   * microseconds plus one day, so that a client with a broken clock cannot exhaust the number range. A node may cap
   * smaller ones as well, or take them as they are: a clock that is far ahead is capped every time, and one that is just
   * ahead of the counter raises it no faster than it runs. A store without a clock leaves this to the clock of the
   * adapter.
   */
  acquire(request: AcquireRequest): Promise<AcquireReply>;

  /**
   * Keeps a claim for at least `ttlMs` from now, and raises the fence counters.
   *
   * - `owner` holds all the resources: keep each until `ttlMs` from now, or until its current expiry if that is later;
   *   set each counter to `max(counter, fence)`, and reply `held` with the highest counter after the change.
   * - No claim of another owner blocks it, as in `acquire`, `owner` does not hold them all, and `rejoin` is set: claim
   *   them all again *as a grant*, with the counters at `max(1 + the highest of their counters, fence)`, or at `max(the
   *   highest of their counters, fence)` if it joins, and reply `rejoined`.
   * - Otherwise: change nothing, and reply neither.
   */
  extend(request: ExtendRequest): Promise<ExtendReply>;

  /**
   * Ends the claims of `owner` on those of the resources that it holds, keeps their fence counters, and notifies the
   * watchers of each resource that is free then. Releasing a resource that is free or held by another owner changes
   * nothing and is not an error.
   */
  release(request: ReleaseRequest): Promise<ReleaseReply>;

  /** Optional: returns who holds the resource on this node, for how long, and its fence counter. Changes nothing. */
  inspect?(resource: string): Promise<NodeView>;

  /**
   * Optional: ends all watches, and closes the node's own resources, such as a connection for notifications. A client
   * that the caller passed in stays open, and locks can still be extended and released over it. Claims and fence
   * counters stay as they are. Safe to repeat.
   */
  close?(): PromiseLike<void> | void;

  /**
   * Optional: true if `acquire` identifies the server that votes, and rejects with a `ConfigurationError` if another
   * node of the same `Redlock` votes on it. Core then grants the first lock only when all nodes have replied or timed
   * out.
   */
  readonly verifiesServer?: boolean;

  /**
   * Optional: how long a reply of this node may reasonably take, in milliseconds. The default `nodeTimeoutMs` of a
   * `Redlock` is at least the largest suggestion of its nodes, up to half of the ttl. For stores that sync each change to
   * a disk, or to other servers, and therefore reply more slowly than the default allows with a short ttl.
   */
  readonly suggestedTimeoutMs?: number;
}

/** The fields of every request. */
export interface NodeRequest {
  /** The names to lock: sorted by UTF-16 code units, without duplicates, at least one, none of them empty. */
  readonly resources: readonly string[];
  /** Signs the claim. No two attempts ever share one. */
  readonly owner: string;
  /** How long the caller will wait for the reply, in milliseconds. */
  readonly timeoutMs: number;
}

/** See {@link LockNode.acquire}. */
export interface AcquireRequest extends NodeRequest, AcquireHints {
  /** How long the node keeps the claim, in milliseconds: a positive integer. */
  readonly ttlMs: number;
  /** The proposed minimum for the fence counter: the client's wall clock in microseconds, or more. */
  readonly fenceHint: number;
  /** An owner whose claims this one may replace: a hand-over between two waiters of one process. */
  readonly takeover?: string;
  /** Whether the claim may be in force together with other shared claims, as those of readers. Default: false. */
  readonly shared?: boolean;
  /** Which stage of a change of servers the client is in: a positive integer. Default: 1. See {@link FenceFloor}. */
  readonly epoch?: number;
  /**
   * Which node votes on which server, for nodes that detect when two of them use the same server. All requests of a
   * `Redlock` carry the same map. Core never reads it. Absent if there is one node only.
   */
  readonly servers?: ServerVotes | undefined;
}

/** Which node of a `Redlock` votes on which server, keyed by a server's identity. Maintained by the nodes. */
export type ServerVotes = Map<string, ServerVote>;

/** See {@link ServerVotes}. Only the node that it names changes it. */
export interface ServerVote {
  /** The name of the node. */
  readonly node: string;
  /** When the node left the server, on the clock of `performance.now()`; absent while it votes there. */
  leftAtMs?: number;
  /** The node that has voted there before, and has left. */
  before?: Required<Pick<ServerVote, "node" | "leftAtMs">>;
}

/** See {@link LockNode.acquire}. */
export type AcquireReply = Grant | Denial;

/** The owner now holds all the resources. */
export interface Grant {
  /** Distinguishes a grant from a {@link Denial}. */
  readonly granted: true;
  /** The highest fence counter of the resources at the moment of this reply: a positive safe integer. */
  readonly fence: number;
  /**
   * True only if the counters of all the resources are equal to `fence` at this moment, as after each grant that was not
   * repeated. Saves locks on several resources a round trip, in which core would make them equal. Default: false.
   */
  readonly uniform?: boolean;
}

/** A claim of another owner blocks the request, or the node favours a client that waits. */
export interface Denial extends DenialHints {
  /** Distinguishes a denial from a {@link Grant}. */
  readonly granted: false;
}

/** See {@link LockNode.extend}. */
export interface ExtendRequest extends NodeRequest {
  /** How long the node keeps the claim from now, at least, in milliseconds: a positive integer. */
  readonly ttlMs: number;
  /** The minimum value of the fence counters afterwards: a positive safe integer. */
  readonly fence: number;
  /** Whether the node may claim the resources again if nothing blocks it, as after a restart that lost the claims. */
  readonly rejoin: boolean;
  /** As in {@link AcquireRequest.shared}, and the same as when the claim was acquired. */
  readonly shared?: boolean;
}

/** See {@link LockNode.extend}. */
export type ExtendReply =
  | {
      /** The owner held all the resources, and keeps them for at least another ttl. */
      readonly held: true;
      /** The highest fence counter of the resources afterwards: at least the `fence` of the request, and perhaps more. */
      readonly fence: number;
    }
  | {
      /** The owner did not hold all the resources. */
      readonly held: false;
      /** Whether the resources were free on this node and are now claimed again. */
      readonly rejoined: boolean;
      /** The owner of a claim that keeps this one out, if the node reports it. Errors show its label. */
      readonly holder?: string;
    };

/** See {@link LockNode.release}. */
export interface ReleaseRequest extends NodeRequest, ReleaseHints {}

/** See {@link LockNode.release}. */
export interface ReleaseReply extends ReleaseReplyHints {
  /** Whether `owner` held any of the resources. */
  readonly released: boolean;
}

/** One of the owners that share a resource. */
export interface Sharer {
  /** Signs the claim. */
  readonly owner: string;
  /** How long the node will keep the claim, in milliseconds. */
  readonly remainingMs: number;
}

/** The state of one resource on one node. */
export interface NodeView {
  /** The owner whose claim on the resource lasts longest on this node, or null if the resource is free. */
  readonly owner: string | null;
  /** How long the node will keep that claim, in milliseconds; null if the resource is free. */
  readonly remainingMs: number | null;
  /**
   * The shared claims on the resource, `owner`'s included, at least the hundred that last longest; absent if the
   * resource is free or the claim is exclusive.
   */
  readonly sharers?: readonly Sharer[];
  /**
   * The fence counter: 0 if nothing has raised it, or the node has forgotten it. It may be higher than the fence of every
   * lock on the resource, as other resources may share it, and a floor may have raised it.
   */
  readonly fence: number;
  /** The floor of the node's fence counters, if it keeps one as a number of its own; see {@link FenceFloor}. */
  readonly floor?: number;
  /**
   * How long the node will not vote for new locks, in milliseconds, because a restart may have lost claims; absent if
   * it votes.
   */
  readonly recoveringMs?: number;
}

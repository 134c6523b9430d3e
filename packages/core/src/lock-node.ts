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
 *   a denial.
 * - When `acquire` rejects with a `ConfigurationError`, retrying cannot help: core ends the call immediately instead of
 *   continuing with the other nodes. When `extend` does, the node counts as failed, and the call ends immediately once
 *   no quorum is left.
 * - All nodes get the same request object.
 * - Requests of one client may overtake each other, as over a pool of connections or the streams of HTTP/2: a release may
 *   take effect before an acquire that was sent earlier. Each reply is true for the order in which they took effect, and
 *   core releases again when it learns of a late grant.
 * - An adapter may abort its own work after `timeoutMs`; core stops waiting by then anyway.
 * - A request that this page does not allow is rejected and changes nothing (`@holdfast/core/requests` has the checks).
 *
 * Support for waiting clients is optional, and described separately: {@link ReleaseNotifier}.
 *
 * The conformance suite (`@holdfast/conformance`) tests every sentence on this page.
 */
export interface LockNode extends ReleaseNotifier {
  /** The node's name in errors, events and logs. Unique among the nodes of one `Redlock`. */
  readonly name: string;

  /**
   * Claims all the resources, or none.
   *
   * - Every resource is free, or held by `takeover`: hold them all for `owner` until `ttlMs` from now, set the fence
   *   counter of each to `max(1 + the highest of their counters, fenceHint)`, and grant with that counter.
   * - The same `owner` already holds them all (the command was resent): grant again with the highest of their counters,
   *   unchanged, and leave the remaining ttl alone.
   * - Otherwise: change nothing and deny.
   *
   * `fenceHint` is capped at the wall clock of the store in microseconds plus one day, so that a client with a broken
   * clock cannot exhaust the number range. A store without a clock leaves this to the clock of the adapter.
   */
  acquire(request: AcquireRequest): Promise<AcquireReply>;

  /**
   * Keeps a claim for at least `ttlMs` from now, and raises the fence counters.
   *
   * - `owner` holds all the resources: keep each until `ttlMs` from now, or until its current expiry if that is later;
   *   set each counter to `max(counter, fence)`, and reply `held` with the highest counter after the change.
   * - No other owner holds any of them, `owner` does not hold them all, and `rejoin` is set: claim them all again *as a
   *   grant*, with the counters at `max(1 + the highest of their counters, fence)`, and reply `rejoined`.
   * - Otherwise: change nothing, and reply neither.
   */
  extend(request: ExtendRequest): Promise<ExtendReply>;

  /**
   * Frees those of the resources that `owner` holds, keeps their fence counters, and notifies watchers. Releasing a
   * resource that is free or held by another owner changes nothing and is not an error.
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
  /**
   * Which node votes on which server, for nodes that detect when two of them use the same server. All requests of a
   * `Redlock` carry the same map. Core never reads it.
   */
  readonly servers?: ServerVotes;
}

/** Which node of a `Redlock` votes on which server, keyed by a server's identity. Maintained by the nodes. */
export type ServerVotes = Map<string, ServerVote>;

/** See {@link ServerVotes}. Only the node that it names changes it. */
export interface ServerVote {
  /** The name of the node. */
  readonly node: string;
  /** When the node left the server, on the clock of `performance.now()`; absent while it votes there. */
  leftAtMs?: number;
}

/** See {@link LockNode.acquire}. */
export type AcquireReply = Grant | Denial;

/** The owner now holds all the resources. */
export interface Grant {
  /** Distinguishes a grant from a {@link Denial}. */
  readonly granted: true;
  /** The fence counter of the resources: a positive safe integer. */
  readonly fence: number;
}

/** Another owner holds at least one of the resources. */
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
  /** Whether the node may claim the resources again if they are free, as after a restart that lost the claims. */
  readonly rejoin: boolean;
}

/** See {@link LockNode.extend}. */
export type ExtendReply =
  | {
      /** The owner held all the resources, and keeps them for at least another ttl. */
      readonly held: true;
      /** The fence counter of the resources afterwards: at least the `fence` of the request. */
      readonly fence: number;
    }
  | {
      /** The owner did not hold all the resources. */
      readonly held: false;
      /** Whether the resources were free on this node and are now claimed again. */
      readonly rejoined: boolean;
    };

/** See {@link LockNode.release}. */
export interface ReleaseRequest extends NodeRequest, ReleaseHints {}

/** See {@link LockNode.release}. */
export interface ReleaseReply extends ReleaseReplyHints {
  /** Whether `owner` held any of the resources. */
  readonly released: boolean;
}

/** The state of one resource on one node. */
export interface NodeView {
  /** The owner that holds the resource on this node, or null if it is free. */
  readonly owner: string | null;
  /** How long the node will keep the claim, in milliseconds; null if the resource is free. */
  readonly remainingMs: number | null;
  /** The fence counter: 0 if the node has never granted the resource, or has forgotten its counter. */
  readonly fence: number;
  /**
   * How long the node will not vote for new locks, in milliseconds, because a restart may have lost claims; absent if
   * it votes.
   */
  readonly recoveringMs?: number;
}

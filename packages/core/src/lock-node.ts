import type {
  AcquireHints,
  DenialHints,
  ReleaseHints,
  ReleaseNotifier,
  ReleaseReplyHints,
} from "./release-notifier.ts";

/**
 * The contract between core and one lock server. Core decides by counting the votes of N independent nodes. It asks two
 * things of a node: each call is atomic on that node, and each answer is true at the moment when the node gives it.
 *
 * - A method resolves with an answer or rejects. A rejection is a *failure* (no answer: down, timed out, broken) and is
 *   never used for a denial.
 * - When `acquire` rejects with a `ConfigurationError`, trying again can never help: core ends the call at once, instead
 *   of going on with the other nodes. When `extend` does, that node has failed, and the call ends at once when no quorum
 *   is left.
 * - All nodes get the same request object. Requests of one client may overtake each other.
 * - An adapter may abort its own work after `timeoutMs`; core stops waiting by then anyway.
 * - A request that this page does not allow is rejected and changes nothing (`@holdfast/core/requests` has the checks).
 *
 * What a node may do for clients that wait is optional, and on a page of its own: {@link ReleaseNotifier}.
 *
 * The conformance suite (`@holdfast/conformance`) tests every sentence on this page.
 */
export interface LockNode extends ReleaseNotifier {
  /** Names the node in errors, events and logs. Unique among the nodes of one `Redlock`. */
  readonly name: string;

  /**
   * Claims all the resources, or none.
   *
   * - Every resource is free, or held by `takeover`: hold them all for `owner` until `ttlMs` from now, set the fence
   *   counter of each to `max(1 + the highest of their counters, fenceHint)`, and grant with that counter.
   * - This same `owner` already holds them all (the command was resent): grant again, with the highest of their
   *   counters as it is, and leave the remaining ttl alone.
   * - Otherwise: change nothing and deny.
   *
   * `fenceHint` counts at most as the node's own wall clock in microseconds plus one day, so that a client with a
   * broken clock cannot use up the number range.
   */
  acquire(request: AcquireRequest): Promise<AcquireReply>;

  /**
   * Keeps a claim for at least `ttlMs` from now, and raises the fence counters.
   *
   * - `owner` holds all the resources: keep each until `ttlMs` from now, or for as long as it would have been kept if
   *   that is longer; set each counter to `max(counter, fence)`, and answer `held` with the highest counter as it is now.
   * - No other owner holds any of them, `owner` does not hold them all, and `rejoin` is set: claim them all again *as a
   *   grant*, with the counters at `max(1 + the highest of their counters, fence)`, and answer `rejoined`.
   * - Otherwise: change nothing, and answer neither.
   */
  extend(request: ExtendRequest): Promise<ExtendReply>;

  /**
   * Frees those of the resources that `owner` holds, keeps their fence counters, and tells watchers. Releasing what
   * is not held, or is held by another owner, changes nothing and is no error.
   */
  release(request: ReleaseRequest): Promise<ReleaseReply>;

  /** Optional: tells who holds the resource on this node, for how long, and the fence counter. Changes nothing. */
  inspect?(resource: string): Promise<NodeView>;

  /**
   * Optional: ends all watches, and closes what belongs to the node itself, such as a connection for notifications. A client that
   * the node was made of stays the caller's: over that, locks can still be extended and released. Claims and fence counters
   * stay as they are. Safe to repeat.
   */
  close?(): PromiseLike<void> | void;

  /**
   * Optional: true if `acquire` finds out which server it is that votes, and rejects with a `ConfigurationError` where another
   * node of the same `Redlock` votes on it. Core then grants the first lock when all nodes have answered, or their time is up.
   */
  readonly verifiesServer?: boolean;
}

/** What every request carries. */
export interface NodeRequest {
  /** The names to lock: sorted by UTF-16 code units, without duplicates, at least one, none of them empty. */
  readonly resources: readonly string[];
  /** Signs the claim. No two attempts ever share one. */
  readonly owner: string;
  /** How long the caller will wait for the answer, in milliseconds. */
  readonly timeoutMs: number;
}

/** See {@link LockNode.acquire}. */
export interface AcquireRequest extends NodeRequest, AcquireHints {
  /** How long the node keeps the claim, in milliseconds: a positive integer. */
  readonly ttlMs: number;
  /** What the client would like the fence counter to be at least: its wall clock in microseconds, or more. */
  readonly fenceHint: number;
  /** An owner whose claims may be replaced by this one: a hand-over between two waiters of one process. */
  readonly takeover?: string;
  /**
   * Who votes on which server, for nodes that can tell when two of them are the same server: the same map in all requests of
   * a `Redlock`. Core never reads it.
   */
  readonly servers?: ServerVotes;
}

/** Which node of a `Redlock` votes on which server, by what tells one server from another. The nodes keep it. */
export type ServerVotes = Map<string, ServerVote>;

/** See {@link ServerVotes}. Its node changes it. */
export interface ServerVote {
  /** The name of the node. */
  readonly node: string;
  /** When the node left the server, on the clock of `performance.now()`; absent while it votes there. */
  leftAtMs?: number;
}

/** See {@link LockNode.acquire}. */
export type AcquireReply = Grant | Denial;

/** All the resources are now held for the owner. */
export interface Grant {
  /** Tells it from a {@link Denial}. */
  readonly granted: true;
  /** The fence counter of the resources: a positive safe integer. */
  readonly fence: number;
}

/** Another owner holds at least one of the resources. */
export interface Denial extends DenialHints {
  /** Tells it from a {@link Grant}. */
  readonly granted: false;
}

/** See {@link LockNode.extend}. */
export interface ExtendRequest extends NodeRequest {
  /** How long the node keeps the claim from now on at the least, in milliseconds: a positive integer. */
  readonly ttlMs: number;
  /** The least value that the fence counters have afterwards: a positive safe integer. */
  readonly fence: number;
  /** Whether the node may claim the resources again when they are free here, as after a restart without memory. */
  readonly rejoin: boolean;
}

/** See {@link LockNode.extend}. */
export type ExtendReply =
  | {
      /** The owner held all the resources, and does so for another ttl at the least. */
      readonly held: true;
      /** The fence counter of the resources now: at least the `fence` of the request. */
      readonly fence: number;
    }
  | {
      /** The owner did not hold all of them. */
      readonly held: false;
      /** Whether the resources were free here and are now claimed again. */
      readonly rejoined: boolean;
    };

/** See {@link LockNode.release}. */
export interface ReleaseRequest extends NodeRequest, ReleaseHints {}

/** See {@link LockNode.release}. */
export interface ReleaseReply extends ReleaseReplyHints {
  /** Whether `owner` held any of the resources. */
  readonly released: boolean;
}

/** One resource as one node sees it. */
export interface NodeView {
  /** The owner that holds the resource here, or null when it is free. */
  readonly owner: string | null;
  /** How long the claim will still be kept, in milliseconds; null when the resource is free. */
  readonly remainingMs: number | null;
  /** The fence counter: 0 when the node has never granted the resource, or no longer remembers. */
  readonly fence: number;
  /**
   * How long the node will not vote for new locks, in milliseconds, because it may have forgotten claims in a restart; absent
   * when it votes.
   */
  readonly recoveringMs?: number;
}

/**
 * The contract between core and one lock server. Core decides by counting the answers of N independent nodes; all it
 * asks of a node is that each call is atomic on that node and that its answers are true at the moment it gives them.
 *
 * A method resolves with an answer or rejects. A rejection is a *failure* (no answer: down, timed out, broken) and is
 * never used for a denial. When `acquire` rejects with a `ConfigurationError`, it says that trying again can never help: core
 * then ends the call at once, instead of going on with the other nodes. When `extend` does, that node failed, and the call
 * ends at once when no quorum is left. All nodes are given the same request object. An adapter may abort its own work after
 * `timeoutMs`; core stops waiting by then anyway. A request that this page does not allow is rejected and changes nothing
 * (`@holdfast/core/requests` has the checks).
 *
 * A node may keep a *line* of those who wait for each resource, so that only one of them tries when it is released. A line
 * is a hint: it never changes who is granted, nothing fails because it cannot be kept, and it may be lost. A waiter stands
 * in a line once. Who came while the resource had a lower fence counter stands before who came later. Those who came at the
 * same counter stand in ascending order of their values, so that nodes that hear of them in different orders name the same
 * one. A line is forgotten no later than a minute after the last request that put somebody into it.
 *
 * The conformance suite (`@holdfast/conformance`) tests every sentence on this page.
 */
export interface LockNode {
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
   * Where the node keeps lines, a denial puts the `waiter` of the request into the line of each resource that is held, by
   * anyone but `takeover`, where it keeps the place that it has if it stands there already. It takes the waiter out of the
   * lines of the other resources, where it could not use its turn; the first who then stands in such a line leaves it, too,
   * and is named to the watchers of that resource, as by a release. A grant takes the waiter out of all of them. A request
   * without a `waiter` leaves the lines as they are.
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
   *
   * Where the node keeps lines, the first in the line of each freed resource leaves it, and is named to the watchers of that
   * resource and in the reply. The `waiter` of the request then enters each line that somebody has left, behind all others.
   * With `undo`, nobody is named, and the lines stay as they are.
   */
  release(request: ReleaseRequest): Promise<ReleaseReply>;

  /**
   * Optional: calls `onReleased` with the name of a watched resource soon after it was released on this node, by
   * whichever client, and with the waiter whose turn it is, if the release named one. It is a hint only: it may come late,
   * twice or never, and neither an expiry nor a release with `undo` need be announced.
   */
  watch?(resources: readonly string[], onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;

  /** Optional: tells who holds the resource on this node, for how long, and the fence counter. Changes nothing. */
  inspect?(resource: string): Promise<NodeView>;
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
export interface AcquireRequest extends NodeRequest {
  /** How long the node keeps the claim, in milliseconds: a positive integer. */
  readonly ttlMs: number;
  /** What the client would like the fence counter to be at least: its wall clock in microseconds, or more. */
  readonly fenceHint: number;
  /** An owner whose claims may be replaced by this one: a hand-over between two waiters of one process. */
  readonly takeover?: string;
  /**
   * Who will go on waiting if this is denied: a text that is not empty, one for all who wait together, such as those of one
   * process. It only decides whom the node names when it frees a resource.
   */
  readonly waiter?: string;
}

/** See {@link LockNode.acquire}. */
export type AcquireReply =
  | {
      /** All the resources are now held for the owner. */
      readonly granted: true;
      /** The fence counter of the resources: a positive safe integer. */
      readonly fence: number;
    }
  | {
      /** Another owner holds at least one of them. */
      readonly granted: false;
      /** The longest remaining ttl among the claims in the way, in milliseconds, if the node knows it. */
      readonly retryAfterMs?: number;
    };

/** See {@link LockNode.extend}. */
export interface ExtendRequest extends NodeRequest {
  /** How long the node keeps the claim from now on at the least, in milliseconds: a positive integer. */
  readonly ttlMs: number;
  /** The least value that the fence counters have afterwards. */
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
export interface ReleaseRequest extends NodeRequest {
  /** Undoes an attempt that has failed: nobody needs to be told, and nobody's turn has come. Default: false. */
  readonly undo?: boolean;
  /**
   * Who will go on waiting after this: it stands behind all who wait, and in no line where nobody does. Like the `waiter`
   * of {@link AcquireRequest}.
   */
  readonly waiter?: string;
}

/** See {@link LockNode.release}. */
export interface ReleaseReply {
  /** Whether `owner` held any of the resources. */
  readonly released: boolean;
  /** Who was named: the first in the line, if there is one and somebody stood in it; of several resources, in any of theirs. */
  readonly next?: string;
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

/** Ends a watch. Safe to call more than once. */
export type Unwatch = () => Promise<void>;

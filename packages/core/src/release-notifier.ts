/**
 * The optional part of the contract between core and a lock server: hints that say *when* an attempt is worth making.
 * A hint never decides who is granted. Every hint may be missing, late, lost or repeated; nothing fails because a node
 * cannot keep one. The contract of safety is {@link LockNode}.
 *
 * A node may keep a **waiting list** for each resource: the clients that wait for it. When the resource is released, the
 * node removes the first waiter from the list and names it, so that only that client tries.
 *
 * - A waiter stands in a list once.
 * - A waiter that came while the resource had a lower fence counter stands before one that came later. Waiters that came
 *   at the same counter stand in ascending order of their values, so that nodes that hear of them in different orders
 *   name the same one.
 * - A node forgets a list no later than a minute after the last request that put a waiter into it.
 *
 * The conformance suite (`@holdfast/conformance`) tests every sentence on this page.
 */
export interface ReleaseNotifier {
  /**
   * Optional: calls `onReleased` with the name of a watched resource soon after it was released on this node, by
   * whichever client, and with the waiter whose turn it is, if the release named one. Neither an expiry nor a release
   * with `undo` need be announced.
   */
  watch?(resources: readonly string[], onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;
}

/** Ends a watch. Safe to call more than once. */
export type Unwatch = () => Promise<void>;

/** What an acquire request says of waiting. */
export interface AcquireHints {
  /**
   * The client that goes on waiting if this is denied: a text that is not empty, one for all callers that wait together,
   * such as those of one process.
   *
   * Where the node keeps lists, a denial puts the waiter into the list of each resource that is held by an owner other
   * than `takeover`; a waiter that stands there already keeps its place. The denial takes the waiter out of the lists of
   * the other resources, where it could not use its turn; the first waiter that remains in such a list is removed, too,
   * and named to the watchers of that resource, as by a release. A grant takes the waiter out of all of the lists. A
   * request without a `waiter` leaves the lists as they are.
   */
  readonly waiter?: string;
}

/** What a denial says of waiting. */
export interface DenialHints {
  /**
   * The longest remaining ttl among the claims in the way, in milliseconds, if the node knows it: `Infinity` where a foreign
   * program keeps one without an end.
   */
  readonly retryAfterMs?: number;
  /**
   * The owner of the claim that lasts longest among those in the way, if the node tells, and if it is not the request's own.
   * Errors show its label.
   */
  readonly holder?: string;
  /**
   * Those of the requested resources that are in the way, or some of them, if the node tells. Core then lets other
   * callers try the rest of the resources.
   */
  readonly heldResources?: readonly string[];
}

/** What a release request says of waiting. */
export interface ReleaseHints {
  /**
   * Whether this undoes an attempt that has failed: nobody is named, nobody need be told, and the lists stay as they are.
   * Default: false.
   */
  readonly undo?: boolean;
  /**
   * The client that goes on waiting after this, like {@link AcquireHints.waiter}. It enters each list from which a waiter
   * was removed, behind all others; it enters no list that was empty.
   */
  readonly waiter?: string;
}

/** What the reply to a release says of waiting. */
export interface ReleaseReplyHints {
  /**
   * The waiter that was named: the first in the list of a freed resource; of several resources, in any of theirs.
   * Absent when no waiter stood in the lists, or the node keeps none.
   */
  readonly next?: string;
}

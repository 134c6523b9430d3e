/**
 * The optional part of the contract between core and a lock server: hints about *when* an attempt is worth making. A
 * hint never decides who gets a lock. Any hint may be missing, late, lost or repeated, and nothing fails because a node
 * does not support hints. {@link LockNode} is the safety contract.
 *
 * A node may keep a **waiting list** for each resource: the clients that wait for it. When the resource is released,
 * the node removes the first waiter from the list and names it, so that only that client tries.
 *
 * - A waiter of a shared request and one of an exclusive request are different waiters, even with the same value. A list
 *   contains each at most once.
 * - Waiters are ordered by the fence counter that the resource had when they were added. Waiters added at the same
 *   counter are in ascending order of their values, so that nodes that learn of them in different orders name the same
 *   one.
 * - Waiters of shared requests come first, and are named together: whenever a node would name the first waiter and there
 *   are such waiters, it removes all of them and names each to the watchers. After readers, however, it is the turn of
 *   an exclusive waiter: when the last shared claim on a resource ends, the node names the first exclusive waiter, if
 *   there is one. So a reader waits for one writer at most, and a writer for those who were before it.
 * - Once sharers have kept out an exclusive request with a waiter, a node denies further shared requests for the resource,
 *   for about a second after each such denial and at most two, or until an exclusive request is granted. Readers that
 *   follow each other without a gap therefore do not keep a writer out.
 * - A node forgets a list no later than a minute after the last request that added a waiter to it.
 *
 * The conformance suite (`@holdfast/conformance`) tests every sentence on this page.
 */
export interface ReleaseNotifier {
  /**
   * Optional: calls `onReleased` soon after any client has released a watched resource on this node, with the name of
   * the resource and, if the release named a waiter, with that waiter. Expiries, releases with `undo` and releases that
   * leave shared claims on the resource need not be announced.
   */
  watch?(resources: readonly string[], onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;
}

/** Ends a watch. Safe to repeat. */
export type Unwatch = () => Promise<void>;

/** The hints of an acquire request. */
export interface AcquireHints {
  /**
   * The client that keeps waiting if this request is denied: a non-empty string, shared by all callers that wait
   * together, such as those of one process.
   *
   * If the node keeps lists, a denial adds the waiter to the list of each resource that another owner than `takeover`
   * holds; a waiter that is already in the list keeps its position. The denial removes the waiter from the lists of the
   * other resources, which it could not use alone; the first remaining waiter of each such list is removed as well, and
   * named to the watchers of that resource as in a release. A grant removes the waiter from all of the lists. A request
   * without a `waiter` leaves the lists unchanged.
   */
  readonly waiter?: string;
}

/** The hints of a denial. */
export interface DenialHints {
  /**
   * The longest remaining ttl among the blocking claims, in milliseconds, if the node knows it: `Infinity` if a foreign
   * program holds a key that never expires.
   */
  readonly retryAfterMs?: number;
  /**
   * The owner of the blocking claim that lasts longest, if the node reports it and it is not the owner of the request.
   * Errors show its label.
   */
  readonly holder?: string;
  /**
   * Requested resources that other owners hold: all or some of them, if the node reports any. Core then lets other
   * callers try the rest of the resources.
   */
  readonly heldResources?: readonly string[];
  /**
   * What blocks the request if it is no claim of another owner, such as "a transaction". Errors show it. Leave out secrets.
   */
  readonly blockedBy?: string;
}

/** The hints of a release request. */
export interface ReleaseHints {
  /**
   * Whether this undoes a failed attempt: the node names no waiter, need not notify watchers, and leaves the lists
   * unchanged. Default: false.
   */
  readonly undo?: boolean;
  /**
   * The client that keeps waiting after this release, as in {@link AcquireHints.waiter}. The node adds it at the end of
   * each list from which it removed a waiter, and to no list that was empty, as a waiter for an exclusive lock.
   */
  readonly waiter?: string;
}

/** The hints of a release reply. */
export interface ReleaseReplyHints {
  /**
   * The waiter that the node named, or one of them: the first in the list of a freed resource, or of any one of several
   * freed resources. Absent if the lists were empty, or the node keeps none.
   */
  readonly next?: string;
}

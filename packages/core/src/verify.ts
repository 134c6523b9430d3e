/** Verification of a fencing token by a service that has no storage of its own to keep the newest token in. */
import type { NodeInspection, NodeSet, Redlock } from "@holdfast/core";
import { checkInteger, checkMethods } from "@holdfast/core/requests";

/** What the nodes know about a fencing token. Each node's view was true at some moment during the call. */
export interface Verification {
  /** The resource. */
  readonly resource: string;
  /** The fencing token that was verified. */
  readonly fence: number;
  /**
   * `current` if a quorum of nodes replied, none of them has a higher fence counter, and at least one has exactly this
   * one: no lock with a larger token was granted before the call. `superseded` if a node has a higher counter. `unknown`
   * if neither: too few nodes replied, or none of them knows the token.
   */
  readonly state: "current" | "superseded" | "unknown";
  /** The highest fence counter that a node reported; 0 if none did. */
  readonly newest: number;
  /** The nodes and how many are a quorum: one set, or while servers change the old one and the new one. */
  readonly sets: readonly NodeSet[];
  /** Each node's view or error, in the order in which the nodes were given. */
  readonly nodes: readonly NodeInspection[];
}

/**
 * Asks the nodes whether a lock with a larger fencing token has been granted on the resource. Changes nothing, and never
 * rejects because a node fails.
 *
 * The answer is about the past. A newer lock may be granted before the caller acts on `current`, so only a storage that
 * refuses smaller tokens with each access protects data. `current` does not mean that the lock is still held, nor that
 * the presenter of the token ever held it: a token is a number that others can guess.
 *
 * `superseded` errs on the safe side: an attempt that raised a counter and then failed supersedes a token as a lock does,
 * even if the lock of that token is still held. The same holds for a node that had a higher counter all along and took
 * no part in the lock, and among shared locks, which may have the same token but need not.
 *
 * A newer lock that was granted before the call is never missed as long as any two quorums share a node that keeps its
 * fence counters, and `redlock` has the same nodes as the clients that lock. A healed node does not count for tokens below
 * its floor, unless a late extension of that lock has reached it.
 *
 * @param redlock a client of the nodes
 * @param resource one of the resources of the lock
 * @param fence the token, as in `Lock.fence`
 * @throws {TypeError | RangeError} for a bad resource, or a fence that is not a positive safe integer
 * @throws {RedlockClosedError} when the `Redlock` is closed
 *
 * @example
 * ```ts
 * import { verify } from "@holdfast/core/verify";
 *
 * const lock = await redlock.acquire("invoice:42");
 * const { state } = await verify(redlock, "invoice:42", lock.fence);
 * if (state === "superseded") throw new Error("a newer lock was granted");
 * await lock.release();
 * ```
 */
export async function verify(
  redlock: Pick<Redlock, "inspect">,
  resource: string,
  fence: number,
): Promise<Verification> {
  checkMethods("redlock", ["inspect"], redlock);
  checkInteger("fence", fence);
  const { fence: newest, sets, nodes } = await redlock.inspect(resource);
  // A counter below a floor may have been lost together with a higher value.
  const known = nodes.filter(({ view }) => view !== null && (view.fence >= fence || (view.floor ?? 0) <= fence));
  const replies = new Set(known.map(({ node }) => node));
  const hasQuorum = sets.every(({ nodes, quorum }) => nodes.filter((node) => replies.has(node)).length >= quorum);
  const isCurrent = hasQuorum && newest === fence;
  const state = newest > fence ? "superseded" : isCurrent ? "current" : "unknown";
  return { resource, fence, state, newest, sets, nodes };
}

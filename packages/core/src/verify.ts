/** Verification of a lock by a service that has no storage of its own to keep the newest token in. */
import type { Lock, NodeInspection, NodeSet, Redlock } from "@holdfast/core";
import { checkInteger, checkMethods, checkType, type NodeView } from "@holdfast/core/node";

/** What the nodes know about a lock. Each node's view was true at some moment during the call. */
export interface Verification {
  /** The resource. */
  readonly resource: string;
  /** The owner that was verified. */
  readonly owner: string;
  /** The fencing token that was verified. */
  readonly fence: number;
  /**
   * `held` if a quorum of each set of nodes holds the lock: it names the owner, with a fence counter of at least the token.
   * `not-held` if no quorum of a set can, whatever the nodes that did not reply may hold. `unknown` if too few replied to
   * tell.
   */
  readonly state: "held" | "not-held" | "unknown";
  /** How long a quorum will keep the claim unless it is extended, in milliseconds; null unless it is held. */
  readonly remainingMs: number | null;
  /** The nodes and how many are a quorum: one set, or while servers change the old one and the new one. */
  readonly sets: readonly NodeSet[];
  /** Each node's view or error, in the order in which the nodes were given. */
  readonly nodes: readonly NodeInspection[];
}

/** Nodes list at least so many of the owners that share a resource. */
const sharersListed = 100;

/**
 * Asks the nodes whether a lock is still held (Burrows, "The Chubby lock service", section 2.4: `CheckSequencer`). Changes
 * nothing, and never rejects because a node fails.
 *
 * The answer is about the past. The lock may end before the caller acts on `held`, so only a storage that refuses smaller
 * tokens with each access protects data. `not-held` does not mean that another lock was granted: nodes that have lost
 * their claims no longer hold a lock that its holder still relies on.
 *
 * The owner is what the presenter proves its lock with. Others cannot guess it, but the nodes show it to every client
 * that inspects the resource.
 *
 * @param redlock a client of the nodes
 * @param resource one of the resources of the lock
 * @param lock the owner and the token that the service was shown, as in `Lock.owner` and `Lock.fence`
 * @throws {TypeError | RangeError} for a bad resource or owner, or a fence that is not a positive safe integer
 * @throws {RedlockClosedError} when the `Redlock` is closed
 *
 * @example
 * ```ts
 * import { verify } from "@holdfast/core/verify";
 *
 * const { owner, fence } = await redlock.acquire("invoice:42");
 * const { state } = await verify(redlock, "invoice:42", { owner, fence });
 * if (state !== "held") throw new Error("the lock has ended");
 * ```
 */
export async function verify(
  redlock: Pick<Redlock, "inspect">,
  resource: string,
  lock: Pick<Lock, "owner" | "fence">,
): Promise<Verification> {
  checkMethods("redlock", ["inspect"], redlock);
  const { owner, fence } = Object(lock) as typeof lock;
  checkType("owner", "string", owner);
  if (owner === "") throw new RangeError("owner must not be empty");
  checkInteger("fence", fence);
  const { sets, nodes } = await redlock.inspect(resource);
  const kept = new Map(nodes.map(({ node, view }) => [node, view === null ? undefined : keptMs(view, owner, fence)]));
  let isHeld = true;
  let isPossible = true;
  let remainingMs = Infinity;
  for (const set of sets) {
    const replies = set.nodes.map((node) => kept.get(node));
    const holding = replies.filter((ms) => ms !== undefined && ms !== null).sort((a, b) => b - a);
    const missing = replies.filter((ms) => ms === undefined).length;
    isHeld &&= holding.length >= set.quorum;
    isPossible &&= holding.length + missing >= set.quorum;
    remainingMs = Math.min(remainingMs, holding[set.quorum - 1] ?? 0);
  }
  const state = isHeld ? "held" : isPossible ? "unknown" : "not-held";
  return { resource, owner, fence, state, remainingMs: isHeld ? remainingMs : null, sets, nodes };
}

/** Returns how long the node keeps the lock; null if it does not hold it, and undefined if it does not tell. */
function keptMs(view: NodeView, owner: string, fence: number): number | null | undefined {
  const { sharers = [view] } = view;
  const claim = sharers.find((each) => each.owner === owner);
  if (claim === undefined) return sharers.length < sharersListed ? null : undefined;
  return view.fence >= fence ? (claim.remainingMs ?? Infinity) : null;
}

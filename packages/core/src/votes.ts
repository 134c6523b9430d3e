import { describeFields, describeValue } from "./arguments.ts";
import { InvalidReplyError, labelOf, type NodeOutcome, type NodeSet } from "./errors.ts";
import type { AcquireRequest, ExtendRequest, LockNode, NodeView, ReleaseRequest, Sharer } from "./lock-node.ts";

/** A node's reply, or failure to reply, as core counts it. */
export interface Vote extends Omit<NodeOutcome, "node"> {
  /** The node's view of the resource, in reply to `inspect`. */
  readonly view?: NodeView;
  /** Whether all the resources have this fence. */
  readonly isUniform?: boolean;
  /** The waiter that the node named in reply to `release`. */
  readonly next?: string;
}

/** The votes so far. */
export interface Tally {
  /** In the order of the nodes; undefined for a node that has not replied. */
  readonly votes: readonly (Vote | undefined)[];
  /** How they count: one of {@link verdict} for each node. */
  readonly verdicts: readonly number[];
}

/** The votes of a call that asked no node. */
export const noVotes: Tally["votes"] = [];

/**
 * What a node has answered, as one bit, so that a sum stands for several verdicts: the desired reply, any other one, a
 * failure, a failure because of a configuration error, or nothing yet.
 */
export const verdict = { yes: 1, no: 2, failed: 4, misconfigured: 8, missing: 16 } as const;

/** How many nodes of each set are a quorum. */
export class Quorum {
  /** The sets by the names of their nodes: one, or while servers change the old one and the new one. */
  readonly sets: readonly NodeSet[];
  /** The positions of the nodes of each set. */
  readonly #positions: readonly (readonly number[])[];

  /**
   * @param all the nodes of all sets
   * @param sets the nodes of each set
   * @param needed how many of them are a quorum
   */
  constructor(
    all: readonly LockNode[],
    sets: readonly (readonly LockNode[])[],
    needed: (set: readonly LockNode[]) => number,
  ) {
    this.sets = sets.map((set) => ({ nodes: set.map(({ name }) => name), quorum: needed(set) }));
    this.#positions = sets.map((set) => set.map((node) => all.indexOf(node)));
  }

  /**
   * Whether enough nodes of each set have one of the wanted verdicts.
   *
   * @param verdicts one of {@link verdict} for each node, in the order of all nodes
   * @param wanted the sum of those that count
   */
  isReachedBy(verdicts: readonly number[], wanted: number): boolean {
    for (let set = 0; set < this.sets.length; set++) {
      let missing = (this.sets[set] as NodeSet).quorum;
      for (const position of this.#positions[set] as readonly number[]) {
        if (((verdicts[position] as number) & wanted) !== 0) missing -= 1;
      }
      if (missing > 0) return false;
    }
    return true;
  }
}

/** Whether a quorum voted yes, or no quorum can any more. */
export function isCertain({ verdicts }: Tally, quorum: Quorum): boolean {
  const { yes, missing } = verdict;
  return quorum.isReachedBy(verdicts, yes) || !quorum.isReachedBy(verdicts, yes + missing);
}

/** The highest fence that nodes granted for a claim, and which nodes granted exactly that one: `yes` or `no` for each. */
export interface HighestFence {
  readonly fence: number;
  readonly verdicts: readonly number[];
}

/**
 * Returns the highest fence among the votes of all nodes. A node agrees if it reports that. For a claim on several resources,
 * whose counters may differ where other resources share them, it reports the highest of them, and must be known to have no
 * other one. The hint of the first request does not show that: a claim that joins leaves lower counters below it, and so does
 * a node that caps it; another client may have raised one of them to the hint before a repeated grant reports the highest.
 *
 * @param isSeveral whether the claim is on several resources
 */
export function highestFence(votes: Tally["votes"], isSeveral: boolean): HighestFence {
  let highest = 0;
  for (const vote of votes) highest = Math.max(highest, vote?.fence ?? 0);
  const verdicts: number[] = [];
  for (const vote of votes) {
    const isAgreed = vote?.fence === highest && (vote.isUniform === true || !isSeveral);
    verdicts.push(isAgreed ? verdict.yes : verdict.no);
  }
  return { fence: highest, verdicts };
}

/*
 * These functions validate replies. A reply that the contract does not allow is a failure (S12), so that a broken
 * adapter cannot produce a lock. Each field is read once, so the adapter cannot change the result afterwards.
 */

/** Reads the reply of `acquire`. */
function readAcquireReply(value: unknown): Vote {
  const { granted, fence, uniform, retryAfterMs, heldResources, holder, blockedBy } = Object(value) as Fields;
  if (granted === true && isFence(fence)) {
    return uniform === true ? { kind: "granted", fence, isUniform: true } : { kind: "granted", fence };
  }
  const isKnown = retryAfterMs === Infinity || isDuration(retryAfterMs);
  const holderLabel = isString(holder) ? labelOf(holder) : null;
  if (granted !== false || !(retryAfterMs === undefined || isKnown)) return invalidReply("acquire", value);
  return {
    kind: "denied",
    ...(retryAfterMs !== undefined && { retryAfterMs: retryAfterMs as number }),
    ...(holderLabel !== null && { holderLabel }),
    ...(isString(blockedBy) && { blockedBy }),
    ...(Array.isArray(heldResources) && { heldResources: heldResources.filter(isString) }),
  };
}

/** Reads the reply of `extend`. Its fence must be at least the requested one. */
function readExtendReply(value: unknown, { fence: atLeast }: ExtendRequest): Vote {
  const { held, fence, rejoined, holder } = Object(value) as Fields;
  if (held === true && isFence(fence) && fence >= atLeast) return { kind: "held", fence };
  if (held === false && rejoined === true) return { kind: "rejoined" };
  if (held === false && rejoined === false) {
    return { kind: "not-held", ...(isString(holder) && { blockedBy: labelOf(holder) ?? "another owner" }) };
  }
  return invalidReply("extend", value);
}

/** Reads the reply of `release`. */
function readReleaseReply(value: unknown): Vote {
  const { released, next } = Object(value) as Fields;
  if (typeof released !== "boolean") return invalidReply("release", value);
  const kind = released ? "released" : "not-held";
  return typeof next === "string" ? { kind, next } : { kind };
}

/** Reads the reply of `inspect`. */
function readNodeView(value: unknown): Vote {
  const { owner, remainingMs, sharers, fence, floor, recoveringMs } = Object(value) as Fields;
  const isValid =
    (owner === null || typeof owner === "string") &&
    (remainingMs === null || isDuration(remainingMs)) &&
    (sharers === undefined || (Array.isArray(sharers) && sharers.every(isSharer))) &&
    (fence === 0 || isFence(fence)) &&
    (floor === undefined || isFence(floor)) &&
    (recoveringMs === undefined || isDuration(recoveringMs));
  if (!isValid) return invalidReply("inspect", value);
  const view = {
    owner,
    remainingMs,
    fence,
    ...(sharers !== undefined && { sharers }),
    ...(floor !== undefined && { floor }),
    ...(recoveringMs !== undefined && { recoveringMs }),
  };
  return { kind: owner === null ? "not-held" : "held", view };
}

/** Reads what a method of a node resolved with, as its reply to a request. */
export const readReply: {
  readonly [Method in keyof Requests]: (value: unknown, request: Requests[Method]) => Vote;
} = { acquire: readAcquireReply, extend: readExtendReply, release: readReleaseReply, inspect: readNodeView };

interface Requests {
  readonly acquire: AcquireRequest;
  readonly extend: ExtendRequest;
  readonly release: ReleaseRequest;
  readonly inspect: string;
}

/** Reads the reason of a rejection. Wraps anything that is not a readable `Error` of this realm in one. */
export function readFailure(reason: unknown): Vote {
  return { kind: "failed", error: toError(reason) };
}

/** Whether the node failed with an error of this code. The error may come from another copy of core. */
export function hasCode(vote: Vote | undefined, code: "MISCONFIGURED" | "EPOCH" | "NOT_SENT"): boolean {
  try {
    return (vote?.error as { readonly code?: unknown } | undefined)?.code === code;
  } catch {
    return false; // a getter that throws
  }
}

function toError(reason: unknown): Error {
  try {
    const message: unknown = (reason as Error | undefined)?.message;
    if (typeof message !== "string") return new Error(`rejected with ${describeValue(reason)}`);
    return reason instanceof Error ? reason : new Error(message);
  } catch {
    return new Error("rejected with an unreadable value");
  }
}

/** The fields of a reply: a value that has none reads as an object without them. */
type Fields = Readonly<Record<string, unknown>>;

/** The limit for fences, safely below 2^53, so that a bogus reply cannot exhaust the numbers for later locks. */
const largestFence = 2 ** 53 - 2 ** 50;

function isFence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < largestFence;
}

function isSharer(value: unknown): value is Sharer {
  const { owner, remainingMs } = Object(value) as Fields;
  return isString(owner) && isDuration(remainingMs);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Infinity;
}

function invalidReply(method: string, value: unknown): Vote {
  return readFailure(new InvalidReplyError(`answered ${method}() with ${describeFields(value)}`));
}

import { describeFields, describeValue } from "./arguments.ts";
import { InvalidReplyError, labelOf, type NodeOutcome } from "./errors.ts";
import type { AcquireRequest, ExtendRequest, NodeView, ReleaseRequest, Sharer } from "./lock-node.ts";

/** A node's reply, or failure to reply, as core counts it. */
export interface Vote extends Omit<NodeOutcome, "node"> {
  /** The node's view of the resource, in reply to `inspect`. */
  readonly view?: NodeView;
  /** Whether all the resources have this fence. */
  readonly isUniform?: boolean;
  /** The waiter that the node named in reply to `release`. */
  readonly next?: string;
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

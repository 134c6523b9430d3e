import { describeFields, describeValue } from "./arguments.ts";
import { type ConfigurationError, InvalidReplyError, labelOf, type NodeOutcome } from "./errors.ts";
import type { NodeView } from "./lock-node.ts";

/** A node's answer to a question of core. */
export interface Vote extends Omit<NodeOutcome, "node"> {
  /** What the node knows of a resource, where it was asked to `inspect` it. */
  readonly view?: NodeView;
  /** The waiter that the node named when it was asked to release. */
  readonly next?: string;
}

/*
 * These functions read what a node answered. What the contract does not allow is a failure (S12): an adapter that answers
 * nonsense must not be able to make a lock of it. Each field is read once, and the adapter cannot change the result
 * afterwards.
 */

/** Reads the reply of `acquire`. */
export function readAcquireReply(value: unknown): Vote {
  const { granted, fence, retryAfterMs, heldResources, holder } = fieldsOf(value);
  if (granted === true && isFence(fence)) return { kind: "granted", fence };
  const isKnown = retryAfterMs === Infinity || isDuration(retryAfterMs);
  const holderLabel = isString(holder) ? labelOf(holder) : null;
  if (granted !== false || !(retryAfterMs === undefined || isKnown)) return nonsense("acquire", value);
  return {
    kind: "denied",
    ...(retryAfterMs !== undefined && { retryAfterMs: retryAfterMs as number }),
    ...(holderLabel !== null && { holderLabel }),
    ...(Array.isArray(heldResources) && { heldResources: heldResources.filter(isString) }),
  };
}

/** Reads the reply of `extend`, which must not name a counter below the one that it was to be raised to. */
export function readExtendReply(value: unknown, atLeast: number): Vote {
  const { held, fence, rejoined } = fieldsOf(value);
  if (held === true && isFence(fence) && fence >= atLeast) return { kind: "held", fence };
  if (held === false && typeof rejoined === "boolean") return { kind: rejoined ? "rejoined" : "not-held" };
  return nonsense("extend", value);
}

/** Reads the reply of `release`. */
export function readReleaseReply(value: unknown): Vote {
  const { released, next } = fieldsOf(value);
  if (typeof released !== "boolean") return nonsense("release", value);
  const kind = released ? "released" : "not-held";
  return typeof next === "string" ? { kind, next } : { kind };
}

/** Reads the reply of `inspect`. */
export function readNodeView(value: unknown): Vote {
  const { owner, remainingMs, fence, recoveringMs } = fieldsOf(value);
  const isValid =
    (owner === null || typeof owner === "string") &&
    (remainingMs === null || isDuration(remainingMs)) &&
    (fence === 0 || isFence(fence)) &&
    (recoveringMs === undefined || isDuration(recoveringMs));
  if (!isValid) return nonsense("inspect", value);
  const view = { owner, remainingMs, fence, ...(recoveringMs !== undefined && { recoveringMs }) };
  return { kind: owner === null ? "not-held" : "held", view };
}

/** Reads what a node rejected with. A value that is no sound `Error` of this realm becomes one. */
export function readFailure(reason: unknown): Vote {
  return { kind: "failed", error: toError(reason) };
}

/** Whether the node said that it can never work like this. By the code: the error may be of another copy of this package. */
export function isMisconfigured({ error }: Vote): boolean {
  try {
    return (error as Partial<ConfigurationError> | undefined)?.code === "MISCONFIGURED";
  } catch {
    return false; // the getter of a strange error
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

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** No sound counter comes near the end of the safe integers, where it would leave none for the locks to come. */
const largestFence = 2 ** 53 - 2 ** 50;

function isFence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < largestFence;
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Infinity;
}

function nonsense(method: string, value: unknown): Vote {
  return readFailure(new InvalidReplyError(`answered ${method}() with ${describeFields(value)}`));
}

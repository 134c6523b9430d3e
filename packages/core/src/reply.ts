import { describe } from "./describe.ts";
import { InvalidReplyError } from "./errors.ts";
import type { AcquireReply, ExtendReply, NodeView, ReleaseReply } from "./lock-node.ts";

/*
 * These read what a node answered, and take what the contract does not allow for a failure (S12): an adapter that
 * answers nonsense must not be able to make a lock out of it. What they return is a copy, which the adapter cannot
 * change afterwards.
 */

/** Reads the reply of `acquire`. */
export function readAcquireReply(value: unknown): AcquireReply | InvalidReplyError {
  const { granted, fence, retryAfterMs } = fieldsOf(value);
  if (granted === true && isFence(fence)) return { granted, fence };
  if (granted === false && retryAfterMs === undefined) return { granted };
  if (granted === false && isDuration(retryAfterMs)) return { granted, retryAfterMs };
  return nonsense("acquire", value);
}

/** Reads the reply of `extend`, which must not name a counter below the one that it was to be raised to. */
export function readExtendReply(value: unknown, atLeast: number): ExtendReply | InvalidReplyError {
  const { held, fence, rejoined } = fieldsOf(value);
  if (held === true && isFence(fence) && fence >= atLeast) return { held, fence };
  if (held === false && typeof rejoined === "boolean") return { held, rejoined };
  return nonsense("extend", value);
}

/** Reads the reply of `release`. */
export function readReleaseReply(value: unknown): ReleaseReply | InvalidReplyError {
  const { released } = fieldsOf(value);
  return typeof released === "boolean" ? { released } : nonsense("release", value);
}

/** Reads the reply of `inspect`. */
export function readNodeView(value: unknown): NodeView | InvalidReplyError {
  const { owner, remainingMs, fence, recoveringMs } = fieldsOf(value);
  const valid =
    (owner === null || typeof owner === "string") &&
    (remainingMs === null || isDuration(remainingMs)) &&
    (fence === 0 || isFence(fence)) &&
    (recoveringMs === undefined || isDuration(recoveringMs));
  if (!valid) return nonsense("inspect", value);
  return { owner, remainingMs, fence, ...(recoveringMs !== undefined && { recoveringMs }) };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** No sound counter comes near the end of the safe integers, where it would leave none for the locks to come. */
const largestFence = 2 ** 53 - 2 ** 50;

function isFence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < largestFence;
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function nonsense(method: string, value: unknown): InvalidReplyError {
  return new InvalidReplyError(`answered ${method}() with ${describe(value)}`);
}

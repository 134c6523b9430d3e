import type { Answer } from "./answers.ts";
import { describe } from "./describe.ts";
import { InvalidReplyError } from "./errors.ts";

/*
 * These read what a node answered, and take what the contract does not allow for a failure (S12): an adapter that
 * answers nonsense must not be able to make a lock out of it. Each field is read once, and the adapter cannot change
 * afterwards what they return.
 */

/** Reads the reply of `acquire`. */
export function readAcquireReply(value: unknown): Answer {
  const { granted, fence, retryAfterMs } = fieldsOf(value);
  if (granted === true && isFence(fence)) return { kind: "granted", fence };
  if (granted === false && retryAfterMs === undefined) return { kind: "denied" };
  if (granted === false && isDuration(retryAfterMs)) return { kind: "denied", retryAfterMs };
  return nonsense("acquire", value);
}

/** Reads the reply of `extend`, which must not name a counter below the one that it was to be raised to. */
export function readExtendReply(value: unknown, atLeast: number): Answer {
  const { held, fence, rejoined } = fieldsOf(value);
  if (held === true && isFence(fence) && fence >= atLeast) return { kind: "held", fence };
  if (held === false && typeof rejoined === "boolean") return { kind: rejoined ? "rejoined" : "not-held" };
  return nonsense("extend", value);
}

/** Reads the reply of `release`. */
export function readReleaseReply(value: unknown): Answer {
  const { released, next } = fieldsOf(value);
  if (typeof released !== "boolean") return nonsense("release", value);
  const kind = released ? "released" : "not-held";
  return typeof next === "string" ? { kind, next } : { kind };
}

/** Reads the reply of `inspect`. */
export function readNodeView(value: unknown): Answer {
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

/** Reads what a node rejected with: what is no sound `Error` of this realm becomes one, so that nobody has to doubt it. */
export function readFailure(reason: unknown): Answer {
  return { kind: "failed", error: toError(reason) };
}

function toError(reason: unknown): Error {
  try {
    const message: unknown = (reason as Error | undefined)?.message;
    if (typeof message !== "string") return new Error(`rejected with ${describe(reason)}`);
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

function isDuration(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Infinity;
}

function nonsense(method: string, value: unknown): Answer {
  return readFailure(new InvalidReplyError(`answered ${method}() with ${describe(value)}`));
}

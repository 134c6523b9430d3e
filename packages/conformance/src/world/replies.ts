import type { AcquireReply, ExtendReply, NodeView, ReleaseReply } from "@holdfast/core";

/*
 * What an answer must look like before its meaning is looked at. The readers are the suite's own, not core's, so that
 * a bug in core's cannot hide one in an adapter. They fail with a sentence, because a wrong type would otherwise
 * surface as a puzzling comparison somewhere else.
 */

/** Takes the reply of `acquire` on these resources, or throws saying what is wrong with it. */
export function readAcquireReply(value: unknown, resources: readonly string[]): AcquireReply {
  const { granted, fence, retryAfterMs, heldResources, holder } = fieldsOf("acquire()", value);
  if (granted === true) {
    insist(isFence(fence), "acquire()", value, "the fence of a grant must be a positive safe integer");
    return { granted, fence };
  }
  insist(granted === false, "acquire()", value, "granted must be true or false");
  const isWait = retryAfterMs === undefined || isDuration(retryAfterMs);
  insist(isWait, "acquire()", value, "retryAfterMs must be a finite number, not negative, if given");
  const areHeld = heldResources === undefined || isPartOf(resources, heldResources);
  insist(areHeld, "acquire()", value, "heldResources must be some of the requested resources, each once, if given");
  const isHolder = holder === undefined || (typeof holder === "string" && holder !== "");
  insist(isHolder, "acquire()", value, "holder must be an owner, if given");
  return {
    granted,
    ...(holder !== undefined && { holder }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(heldResources !== undefined && { heldResources }),
  };
}

/** Takes the reply of `extend`, or throws saying what is wrong with it. */
export function readExtendReply(value: unknown, atLeast: number): ExtendReply {
  const { held, fence, rejoined } = fieldsOf("extend()", value);
  if (held === true) {
    insist(isFence(fence), "extend()", value, "the fence of a held claim must be a positive safe integer");
    insist(fence >= atLeast, "extend()", value, `the fence must be at least the ${atLeast} that was asked for`);
    return { held, fence };
  }
  insist(held === false, "extend()", value, "held must be true or false");
  insist(typeof rejoined === "boolean", "extend()", value, "rejoined must be true or false where held is false");
  return { held, rejoined };
}

/** Takes the reply of `release`, or throws saying what is wrong with it. */
export function readReleaseReply(value: unknown): ReleaseReply {
  const { released, next } = fieldsOf("release()", value);
  insist(typeof released === "boolean", "release()", value, "released must be true or false");
  if (next === undefined) return { released };
  insist(typeof next === "string" && next !== "", "release()", value, "next must be a waiter if given");
  return { released, next };
}

/** Takes the answer of `inspect`, or throws saying what is wrong with it. */
export function readNodeView(value: unknown): NodeView {
  const { owner, remainingMs, fence } = fieldsOf("inspect()", value);
  insist(fence === 0 || isFence(fence), "inspect()", value, "fence must be 0 or a positive safe integer");
  if (owner === null) {
    insist(remainingMs === null, "inspect()", value, "remainingMs must be null where owner is null");
    return { owner, remainingMs, fence };
  }
  insist(typeof owner === "string", "inspect()", value, "owner must be a string or null");
  insist(
    isDuration(remainingMs),
    "inspect()",
    value,
    "remainingMs of a held resource must be a finite number of at least 0",
  );
  return { owner, remainingMs, fence };
}

function fieldsOf(method: string, value: unknown): Record<string, unknown> {
  insist(typeof value === "object" && value !== null, method, value, "the answer must be an object");
  return value as Record<string, unknown>;
}

function isFence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** Whether a value lists one or more of these resources, each once. */
function isPartOf(resources: readonly string[], value: unknown): value is readonly string[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return new Set(value).size === value.length && value.every((each) => resources.includes(each));
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function insist(condition: boolean, method: string, value: unknown, rule: string): asserts condition {
  if (!condition) throw new Error(`${method} resolved with ${describe(value)}: ${rule}`);
}

function describe(value: unknown): string {
  return typeof value === "object"
    ? (JSON.stringify(value) ?? "an unreadable object")
    : `${typeof value} ${String(value)}`;
}

import type { AcquireReply, ExtendReply, NodeView, ReleaseReply, Sharer } from "@holdfast/core";

/*
 * Validates the shape of replies before tests look at their meaning. The suite does not use core's validation, so that
 * a bug there cannot hide one in an adapter. The errors are sentences, because a wrong type would otherwise surface as
 * a puzzling comparison elsewhere.
 */

/** Validates the reply of `acquire` on these resources. Throws an error that says what is wrong with it. */
export function readAcquireReply(value: unknown, resources: readonly string[]): AcquireReply {
  const { granted, fence, retryAfterMs, heldResources, holder } = fieldsOf("acquire()", value);
  if (granted === true) {
    assertReply(isFence(fence), "acquire()", value, "the fence of a grant must be a positive safe integer");
    return { granted, fence };
  }
  assertReply(granted === false, "acquire()", value, "granted must be true or false");
  const isWait = retryAfterMs === undefined || isDuration(retryAfterMs);
  assertReply(isWait, "acquire()", value, "retryAfterMs must be a finite number, not negative, if given");
  const areHeld = heldResources === undefined || isPartOf(resources, heldResources);
  assertReply(
    areHeld,
    "acquire()",
    value,
    "heldResources must be some of the requested resources, each once, if given",
  );
  const isHolder = holder === undefined || (typeof holder === "string" && holder !== "");
  assertReply(isHolder, "acquire()", value, "holder must be an owner, if given");
  return {
    granted,
    ...(holder !== undefined && { holder }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(heldResources !== undefined && { heldResources }),
  };
}

/** Validates the reply of `extend`. Throws an error that says what is wrong with it. */
export function readExtendReply(value: unknown, atLeast: number): ExtendReply {
  const { held, fence, rejoined } = fieldsOf("extend()", value);
  if (held === true) {
    assertReply(isFence(fence), "extend()", value, "the fence of a held claim must be a positive safe integer");
    assertReply(fence >= atLeast, "extend()", value, `the fence must be at least the requested ${atLeast}`);
    return { held, fence };
  }
  assertReply(held === false, "extend()", value, "held must be true or false");
  assertReply(typeof rejoined === "boolean", "extend()", value, "rejoined must be true or false where held is false");
  return { held, rejoined };
}

/** Validates the reply of `release`. Throws an error that says what is wrong with it. */
export function readReleaseReply(value: unknown): ReleaseReply {
  const { released, next } = fieldsOf("release()", value);
  assertReply(typeof released === "boolean", "release()", value, "released must be true or false");
  if (next === undefined) return { released };
  assertReply(typeof next === "string" && next !== "", "release()", value, "next must be a waiter if given");
  return { released, next };
}

/** Validates the reply of `inspect`. Throws an error that says what is wrong with it. */
export function readNodeView(value: unknown): NodeView {
  const { owner, remainingMs, sharers, fence } = fieldsOf("inspect()", value);
  assertReply(fence === 0 || isFence(fence), "inspect()", value, "fence must be 0 or a positive safe integer");
  if (owner === null) {
    assertReply(remainingMs === null, "inspect()", value, "remainingMs must be null where owner is null");
    assertReply(sharers === undefined, "inspect()", value, "a free resource must have no sharers");
    return { owner, remainingMs, fence };
  }
  assertReply(typeof owner === "string", "inspect()", value, "owner must be a string or null");
  assertReply(
    isDuration(remainingMs),
    "inspect()",
    value,
    "remainingMs of a held resource must be a finite number of at least 0",
  );
  if (sharers === undefined) return { owner, remainingMs, fence };
  const areSharers = Array.isArray(sharers) && areDifferentOwners(sharers) && sharers.every(hasDuration);
  assertReply(areSharers, "inspect()", value, "sharers must list different owners and their remaining times, if given");
  const own = (sharers as readonly Sharer[]).find((sharer) => sharer.owner === owner);
  assertReply(own?.remainingMs === remainingMs, "inspect()", value, "the owner must be among the sharers, if given");
  return { owner, remainingMs, sharers: sharers as readonly Sharer[], fence };
}

function areDifferentOwners(sharers: readonly unknown[]): boolean {
  const owners = sharers.map((sharer) => fieldsOf("inspect()", sharer).owner);
  return new Set(owners).size === owners.length && owners.every((owner) => typeof owner === "string" && owner !== "");
}

function hasDuration(sharer: unknown): boolean {
  return isDuration(fieldsOf("inspect()", sharer).remainingMs);
}

function fieldsOf(method: string, value: unknown): Record<string, unknown> {
  assertReply(typeof value === "object" && value !== null, method, value, "the reply must be an object");
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

function assertReply(condition: boolean, method: string, value: unknown, rule: string): asserts condition {
  if (!condition) throw new Error(`${method} resolved with ${describe(value)}: ${rule}`);
}

function describe(value: unknown): string {
  return typeof value === "object"
    ? (JSON.stringify(value) ?? "an unreadable object")
    : `${typeof value} ${String(value)}`;
}

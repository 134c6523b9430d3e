import type {
  AcquireReply,
  ExtendReply,
  Floor,
  NodeView,
  ReleaseReply,
  ScannedClaim,
  ScanPortion,
  Sharer,
} from "@holdfast/core";

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
  const { owner, remainingMs, sharers, fence, floor } = fieldsOf("inspect()", value);
  assertReply(isCounter(fence), "inspect()", value, "fence must be 0 or a positive safe integer");
  assertReply(floor === undefined || isFence(floor), "inspect()", value, "floor must be a positive integer if given");
  const counters = { fence, ...(floor !== undefined && { floor }) };
  if (owner === null) {
    assertReply(remainingMs === null, "inspect()", value, "remainingMs must be null where owner is null");
    assertReply(sharers === undefined, "inspect()", value, "a free resource must have no sharers");
    return { owner, remainingMs, ...counters };
  }
  assertReply(typeof owner === "string", "inspect()", value, "owner must be a string or null");
  assertReply(
    isDuration(remainingMs),
    "inspect()",
    value,
    "remainingMs of a held resource must be a finite number of at least 0",
  );
  if (sharers === undefined) return { owner, remainingMs, ...counters };
  const areSharers = Array.isArray(sharers) && areDifferentOwners(sharers) && sharers.every(hasDuration);
  assertReply(areSharers, "inspect()", value, "sharers must list different owners and their remaining times, if given");
  const own = (sharers as readonly Sharer[]).find((sharer) => sharer.owner === owner);
  assertReply(own?.remainingMs === remainingMs, "inspect()", value, "the owner must be among the sharers, if given");
  return { owner, remainingMs, sharers: sharers as readonly Sharer[], ...counters };
}

/** Validates the reply of `raiseFloor` to a request. Throws an error that says what is wrong with it. */
export function readFloor(value: unknown, atLeast: Floor): Floor {
  const { floor, epoch } = fieldsOf("raiseFloor()", value);
  assertReply(isCounter(floor), "raiseFloor()", value, "floor must be a safe integer, 0 or above");
  assertReply(isCounter(epoch), "raiseFloor()", value, "epoch must be a safe integer, 0 or above");
  assertReply(floor >= atLeast.floor, "raiseFloor()", value, `the floor must be at least ${atLeast.floor}`);
  assertReply(epoch >= atLeast.epoch, "raiseFloor()", value, `the epoch must be at least ${atLeast.epoch}`);
  return { floor, epoch };
}

/** Validates the reply of `scan`. Throws an error that says what is wrong with it. */
export function readScanPortion(value: unknown): ScanPortion {
  const { counters, highest, claims, cursor } = fieldsOf("scan()", value);
  assertReply(isCounter(counters), "scan()", value, "counters must be a safe integer, 0 or above");
  assertReply(isCounter(highest), "scan()", value, "highest must be 0 or a positive safe integer");
  assertReply(counters === 0 || highest > 0, "scan()", value, "highest must be one of the counters");
  assertReply(counters > 0 || highest === 0, "scan()", value, "highest must be 0 if there is no counter");
  assertReply(Array.isArray(claims), "scan()", value, "claims must be a list");
  const areClaims = claims.every(isScannedClaim);
  assertReply(areClaims, "scan()", value, "each claim must have a resource, an owner, and a remainingMs of 0 or above");
  if (cursor === undefined) return { counters, highest, claims };
  assertReply(isName(cursor), "scan()", value, "cursor must be a non-empty string if given");
  return { counters, highest, claims, cursor };
}

function isScannedClaim(value: unknown): value is ScannedClaim {
  const { resource, owner, remainingMs } = fieldsOf("scan()", value);
  return isName(resource) && isName(owner) && (isDuration(remainingMs) || remainingMs === Infinity);
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

function isCounter(value: unknown): value is number {
  return value === 0 || isFence(value);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
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

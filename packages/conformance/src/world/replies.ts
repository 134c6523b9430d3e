import type {
  AcquireReply,
  ExtendReply,
  Floor,
  NodeView,
  ReleaseReply,
  ScannedClaim,
  ScanPortion,
  Sharer,
  Unwatch,
} from "@holdfast/core/node";

/*
 * Validates the shape of replies before tests look at their meaning. The suite does not use core's validation, so that
 * a bug there cannot hide one in an adapter. Each reader throws an error that says what is wrong: a wrong type would
 * otherwise surface as a puzzling comparison elsewhere.
 */

/** Validates the reply of `acquire` on these resources. */
export function readAcquireReply(value: unknown, resources: readonly string[]): AcquireReply {
  const { granted, fence, uniform, retryAfterMs, heldResources, holder } = fieldsOf(value);
  if (granted === true) {
    assertReply(isFence(fence), "the fence of a grant must be a positive safe integer");
    assertReply(uniform === undefined || typeof uniform === "boolean", "uniform must be true or false if given");
    return { granted, fence, ...(uniform !== undefined && { uniform }) };
  }
  assertReply(granted === false, "granted must be true or false");
  const isWait = retryAfterMs === undefined || isDuration(retryAfterMs);
  assertReply(isWait, "retryAfterMs must be a finite number, not negative, if given");
  const areHeld = heldResources === undefined || isPartOf(resources, heldResources);
  assertReply(areHeld, "heldResources must be some of the requested resources, each once, if given");
  assertReply(holder === undefined || isName(holder), "holder must be an owner, if given");
  return {
    granted,
    ...(holder !== undefined && { holder }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(heldResources !== undefined && { heldResources }),
  };
}

/** Validates the reply of `extend`. */
export function readExtendReply(value: unknown, atLeast: number): ExtendReply {
  const { held, fence, rejoined, holder } = fieldsOf(value);
  if (held === true) {
    assertReply(isFence(fence), "the fence of a held claim must be a positive safe integer");
    assertReply(fence >= atLeast, `the fence must be at least the requested ${atLeast}`);
    return { held, fence };
  }
  assertReply(held === false, "held must be true or false");
  assertReply(typeof rejoined === "boolean", "rejoined must be true or false where held is false");
  assertReply(
    holder === undefined || (isName(holder) && !rejoined),
    "holder must be an owner, if given, that keeps this one out",
  );
  return { held, rejoined };
}

/** Validates the reply of `release`. */
export function readReleaseReply(value: unknown): ReleaseReply {
  const { released, next } = fieldsOf(value);
  assertReply(typeof released === "boolean", "released must be true or false");
  if (next === undefined) return { released };
  assertReply(typeof next === "string" && next !== "", "next must be a waiter if given");
  return { released, next };
}

/** Validates the reply of `inspect`. */
export function readNodeView(value: unknown): NodeView {
  const { owner, remainingMs, sharers, fence, floor } = fieldsOf(value);
  assertReply(isCounter(fence), "fence must be 0 or a positive safe integer");
  assertReply(floor === undefined || isFence(floor), "floor must be a positive integer if given");
  const counters = { fence, ...(floor !== undefined && { floor }) };
  if (owner === null) {
    assertReply(remainingMs === null, "remainingMs must be null where owner is null");
    assertReply(sharers === undefined, "a free resource must have no sharers");
    return { owner, remainingMs, ...counters };
  }
  assertReply(typeof owner === "string", "owner must be a string or null");
  assertReply(isDuration(remainingMs), "remainingMs of a held resource must be a finite number of at least 0");
  if (sharers === undefined) return { owner, remainingMs, ...counters };
  const areSharers = Array.isArray(sharers) && areDifferentOwners(sharers) && sharers.every(hasDuration);
  assertReply(areSharers, "sharers must list different owners and their remaining times, if given");
  const own = (sharers as readonly Sharer[]).find((sharer) => sharer.owner === owner);
  assertReply(own?.remainingMs === remainingMs, "the owner must be among the sharers, if given");
  return { owner, remainingMs, sharers: sharers as readonly Sharer[], ...counters };
}

/** Validates the reply of `raiseFloor` to a request. */
export function readFloor(value: unknown, atLeast: Floor): Floor {
  const { floor, epoch } = fieldsOf(value);
  assertReply(isCounter(floor), "floor must be a safe integer, 0 or above");
  assertReply(isCounter(epoch), "epoch must be a safe integer, 0 or above");
  assertReply(floor >= atLeast.floor, `the floor must be at least ${atLeast.floor}`);
  assertReply(epoch >= atLeast.epoch, `the epoch must be at least ${atLeast.epoch}`);
  return { floor, epoch };
}

/** Validates the reply of `scan`. */
export function readScanPortion(value: unknown): ScanPortion {
  const { counters, highest, claims, cursor } = fieldsOf(value);
  assertReply(isCounter(counters), "counters must be a safe integer, 0 or above");
  assertReply(isCounter(highest), "highest must be 0 or a positive safe integer");
  assertReply(counters === 0 || highest > 0, "highest must be one of the counters");
  assertReply(counters > 0 || highest === 0, "highest must be 0 if there is no counter");
  assertReply(Array.isArray(claims), "claims must be a list");
  const areClaims = claims.every(isScannedClaim);
  assertReply(areClaims, "each claim must have a resource, an owner, and a remainingMs of 0 or above");
  if (cursor === undefined) return { counters, highest, claims };
  assertReply(isName(cursor), "cursor must be a non-empty string if given");
  return { counters, highest, claims, cursor };
}

/** Validates what `watch` resolves with. */
export function readUnwatch(value: unknown): Unwatch {
  assertReply(typeof value === "function", "it must be the function that ends the watch");
  return value as Unwatch;
}

function isScannedClaim(value: unknown): value is ScannedClaim {
  const { resource, owner, remainingMs } = fieldsOf(value);
  return isName(resource) && isName(owner) && (isDuration(remainingMs) || remainingMs === Infinity);
}

function areDifferentOwners(sharers: readonly unknown[]): boolean {
  const owners = sharers.map((sharer) => fieldsOf(sharer).owner);
  return new Set(owners).size === owners.length && owners.every((owner) => typeof owner === "string" && owner !== "");
}

function hasDuration(sharer: unknown): boolean {
  return isDuration(fieldsOf(sharer).remainingMs);
}

function fieldsOf(value: unknown): Record<string, unknown> {
  assertReply(typeof value === "object" && value !== null, "the reply must be an object");
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

function assertReply(condition: boolean, rule: string): asserts condition {
  if (!condition) throw new Error(rule);
}

/** Formats a reply for a message. */
export function describe(value: unknown): string {
  return typeof value === "object"
    ? (JSON.stringify(value) ?? "an unreadable object")
    : `${typeof value} ${String(value)}`;
}

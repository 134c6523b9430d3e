/**
 * Checks for adapter authors: of a node's options, and of the requests that it receives. Core itself sends only valid
 * ones.
 */
import { describeValue } from "./arguments.ts";
import type { FloorRequest } from "./fence-floor.ts";
import type { AcquireRequest, ExtendRequest, NodeRequest, ReleaseRequest } from "./lock-node.ts";

export { assertOptions, checkInteger, checkMethods, checkType } from "./arguments.ts";

/**
 * Throws unless the contract allows this acquire request, so that a node never claims anything by guesswork.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import type { AcquireRequest } from "@holdfast/core";
 * import { assertAcquire } from "@holdfast/core/requests";
 *
 * async function acquire(request: AcquireRequest) {
 *   assertAcquire(request);
 *   // … claim the resources
 * }
 * await acquire({ resources: ["r"], owner: "me", ttlMs: 1_000, fenceHint: 1, timeoutMs: 50 });
 * ```
 */
export const assertAcquire: (request: AcquireRequest) => void = oncePerRequest((request) => {
  const { ttlMs, fenceHint, takeover, shared, epoch, waiter } = request;
  assertNames(request);
  assert(Number.isSafeInteger(ttlMs) && ttlMs > 0, "ttlMs must be a positive integer", ttlMs);
  assert(Number.isSafeInteger(fenceHint), "fenceHint must be a safe integer", fenceHint);
  assert(takeover === undefined || isName(takeover), "takeover must be a non-empty string if given", takeover);
  assert(shared === undefined || typeof shared === "boolean", "shared must be true or false if given", shared);
  const isEpoch = epoch === undefined || (Number.isSafeInteger(epoch) && epoch > 0);
  assert(isEpoch, "epoch must be a positive integer if given", epoch);
  assertWaiter(waiter);
});

/**
 * Throws unless the contract allows this extend request.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertExtend } from "@holdfast/core/requests";
 *
 * assertExtend({ resources: ["r"], owner: "me", ttlMs: 1_000, fence: 1, rejoin: false, timeoutMs: 50 });
 * ```
 */
export const assertExtend: (request: ExtendRequest) => void = oncePerRequest((request) => {
  const { ttlMs, fence, rejoin, shared } = request;
  assertNames(request);
  assert(Number.isSafeInteger(ttlMs) && ttlMs > 0, "ttlMs must be a positive integer", ttlMs);
  assert(Number.isSafeInteger(fence) && fence > 0, "fence must be a positive safe integer", fence);
  assert(typeof rejoin === "boolean", "rejoin must be true or false", rejoin);
  assert(shared === undefined || typeof shared === "boolean", "shared must be true or false if given", shared);
});

/**
 * Throws unless the contract allows this release request.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertRelease } from "@holdfast/core/requests";
 *
 * assertRelease({ resources: ["r"], owner: "me", timeoutMs: 50 });
 * ```
 */
export const assertRelease: (request: ReleaseRequest) => void = oncePerRequest((request) => {
  const { undo, waiter } = request;
  assertNames(request);
  assert(undo === undefined || typeof undo === "boolean", "undo must be true or false if given", undo);
  assertWaiter(waiter);
});

/**
 * Throws unless the contract allows this request to raise the floor.
 *
 * @param request as the node received it
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertFloor } from "@holdfast/core/requests";
 *
 * assertFloor({ floor: 1_700_000_000_000_000, epoch: 2, timeoutMs: 50 });
 * ```
 */
export function assertFloor({ floor, epoch }: FloorRequest): void {
  assert(Number.isSafeInteger(floor) && floor >= 0, "floor must be a safe integer, 0 or above", floor);
  assert(Number.isSafeInteger(epoch) && epoch >= 0, "epoch must be a safe integer, 0 or above", epoch);
}

/** Skips the check for a frozen request that has just passed it: all nodes of a `Redlock` receive the same object. */
function oncePerRequest<Request extends NodeRequest>(check: (request: Request) => void): (request: Request) => void {
  let checked: Request | undefined;
  return (request) => {
    if (request === checked) return;
    check(request);
    if (Object.isFrozen(request) && Object.isFrozen(request.resources)) checked = request;
  };
}

function assertNames({ resources, owner }: NodeRequest): void {
  assert(Array.isArray(resources) && resources.length > 0, "resources must be a list of at least one name", resources);
  for (const resource of resources) assert(isName(resource), "each resource must be a non-empty string", resource);
  assert(isName(owner), "owner must be a non-empty string", owner);
}

function assertWaiter(waiter: unknown): void {
  assert(waiter === undefined || isName(waiter), "waiter must be a non-empty string if given", waiter);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function assert(condition: boolean, rule: string, value: unknown): void {
  if (!condition) throw new RangeError(`${rule}, not ${describeValue(value)}`);
}

/**
 * For authors of adapters: what a lock node is, checks of its options and of the requests that it receives, and names for
 * the clients that it serves. Core itself sends only valid requests.
 */
import { assertOptions, checkInteger, describeValue } from "./arguments.ts";
import { ConfigurationError } from "./errors.ts";
import type { FloorRequest } from "./fence-floor.ts";
import type { AcquireRequest, ExtendRequest, NodeRequest, ReleaseRequest } from "./lock-node.ts";

export { assertOptions, checkInteger, checkMethods, checkType } from "./arguments.ts";
export { timerMaxMs } from "./clock.ts";
export type { FenceFloor, Floor, FloorRequest, ScannedClaim, ScanPortion, ScanRequest } from "./fence-floor.ts";
export { clientsOf, epochOf, servedBy } from "./generation.ts";
export type * from "./lock-node.ts";
export type * from "./release-notifier.ts";
export { ServerCheck, type ServerIdentity } from "./server-check.ts";

/**
 * Throws unless the contract allows this acquire request, so that a node never claims anything by guesswork.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { type AcquireRequest, assertAcquire } from "@holdfast/core/node";
 *
 * async function acquire(request: AcquireRequest) {
 *   assertAcquire(request);
 *   // … claim the resources
 * }
 * await acquire({ resources: ["r"], owner: "me", ttlMs: 1_000, fenceHint: 1, timeoutMs: 50 });
 * ```
 */
export function assertAcquire(request: AcquireRequest): void {
  const { ttlMs, fenceHint, takeover, shared, epoch } = request;
  assertNames(request);
  if (!(Number.isSafeInteger(ttlMs) && ttlMs > 0)) refuse("ttlMs must be a positive integer", ttlMs);
  if (!Number.isSafeInteger(fenceHint)) refuse("fenceHint must be a safe integer", fenceHint);
  if (!(takeover === undefined || isName(takeover))) refuse("takeover must be a non-empty string if given", takeover);
  if (!(shared === undefined || typeof shared === "boolean")) refuse("shared must be true or false if given", shared);
  const isEpoch = epoch === undefined || (Number.isSafeInteger(epoch) && epoch > 0);
  if (!isEpoch) refuse("epoch must be a positive integer if given", epoch);
}

/**
 * Throws unless the contract allows this extend request.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertExtend } from "@holdfast/core/node";
 *
 * assertExtend({ resources: ["r"], owner: "me", ttlMs: 1_000, fence: 1, rejoin: false, timeoutMs: 50 });
 * ```
 */
export function assertExtend(request: ExtendRequest): void {
  const { ttlMs, fence, rejoin, shared } = request;
  assertNames(request);
  if (!(Number.isSafeInteger(ttlMs) && ttlMs > 0)) refuse("ttlMs must be a positive integer", ttlMs);
  if (!(Number.isSafeInteger(fence) && fence > 0)) refuse("fence must be a positive safe integer", fence);
  if (typeof rejoin !== "boolean") refuse("rejoin must be true or false", rejoin);
  if (!(shared === undefined || typeof shared === "boolean")) refuse("shared must be true or false if given", shared);
}

/**
 * Throws unless the contract allows this release request.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertRelease } from "@holdfast/core/node";
 *
 * assertRelease({ resources: ["r"], owner: "me", timeoutMs: 50 });
 * ```
 */
export function assertRelease(request: ReleaseRequest): void {
  const { undo } = request;
  assertNames(request);
  if (!(undo === undefined || typeof undo === "boolean")) refuse("undo must be true or false if given", undo);
}

/**
 * Throws unless the contract allows this request to raise the floor.
 *
 * @param request as the node received it
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertFloor } from "@holdfast/core/node";
 *
 * assertFloor({ floor: 1_700_000_000_000_000, epoch: 2, timeoutMs: 50 });
 * ```
 */
export function assertFloor({ floor, epoch }: FloorRequest): void {
  if (!(Number.isSafeInteger(floor) && floor >= 0)) refuse("floor must be a safe integer, 0 or above", floor);
  if (!(Number.isSafeInteger(epoch) && epoch >= 0)) refuse("epoch must be a safe integer, 0 or above", epoch);
}

/**
 * Returns the error of an `acquire` after `close()`. A node that is used again would not be woken by releases.
 *
 * @param resources those of the request
 *
 * @example
 * ```ts
 * import { type AcquireRequest, closedError } from "@holdfast/core/node";
 *
 * let isClosed = false;
 * async function acquire({ resources }: AcquireRequest) {
 *   if (isClosed) throw closedError(resources);
 *   // … claim the resources
 * }
 * ```
 */
export function closedError(resources: readonly string[]): ConfigurationError {
  return new ConfigurationError("the node is closed: create another one", resources);
}

/**
 * Checks the options of an adapter's `deleteUnused`, which deletes what the store keeps of names that nobody has claimed for
 * some time: at least a minute.
 *
 * @throws {TypeError | RangeError} naming what is wrong
 *
 * @example
 * ```ts
 * import { assertDeleteUnused } from "@holdfast/core/node";
 *
 * async function deleteUnused(options: { readonly unusedForMs: number }) {
 *   assertDeleteUnused(options);
 *   // … delete
 * }
 * ```
 */
export function assertDeleteUnused(options: { readonly unusedForMs: number }): void {
  assertOptions(options, ["unusedForMs"], "deleteUnused");
  checkInteger("unusedForMs", options.unusedForMs);
  if (options.unusedForMs < minuteMs) {
    throw new RangeError(`unusedForMs must be at least ${minuteMs}, a minute, not ${options.unusedForMs}`);
  }
}

const minuteMs = 60_000;

function assertNames({ resources, owner, waiter }: NodeRequest & { readonly waiter?: string | undefined }): void {
  if (!(Array.isArray(resources) && resources.length > 0))
    refuse("resources must be a list of at least one name", resources);
  for (const resource of resources) if (!isName(resource)) refuse("each resource must be a non-empty string", resource);
  if (!isName(owner)) refuse("owner must be a non-empty string", owner);
  if (!(waiter === undefined || isName(waiter))) refuse("waiter must be a non-empty string if given", waiter);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function refuse(rule: string, value: unknown): never {
  throw new RangeError(`${rule}, not ${describeValue(value)}`);
}

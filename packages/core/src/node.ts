/**
 * For authors of adapters: what a lock node is, checks of its options and of the requests that it receives, and names for
 * the clients that it serves. Core itself sends only valid requests.
 */
import { assertOptions, checkInteger } from "./arguments.ts";
import { ConfigurationError } from "./errors.ts";

export { assertOptions, checkInteger, checkMethods, checkType } from "./arguments.ts";
export { timerMaxMs } from "./clock.ts";
export type { FenceFloor, Floor, FloorRequest, ScannedClaim, ScanPortion, ScanRequest } from "./fence-floor.ts";
export { clientsOf, epochOf, servedBy } from "./generation.ts";
export type * from "./lock-node.ts";
export {
  assertAcquire,
  assertExtend,
  assertFloor,
  assertRelease,
  ServerCheck,
  type ServerIdentity,
} from "./node-checks.ts";
export type * from "./release-notifier.ts";

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

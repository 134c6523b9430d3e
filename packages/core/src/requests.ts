/** Checks for authors of adapters: of the options of a node, and of the requests that it gets. Core sends no malformed ones. */
import { describeValue } from "./arguments.ts";
import type { AcquireRequest, ExtendRequest, NodeRequest, ReleaseRequest } from "./lock-node.ts";

export { assertOptions, checkMethods, checkType } from "./arguments.ts";

/**
 * Throws unless the request is one that the contract allows, so that nothing is claimed by guesswork.
 *
 * @throws {RangeError} naming the field and what is wanted
 */
export const assertAcquire: (request: AcquireRequest) => void = oncePerRequest((request) => {
  const { ttlMs, fenceHint, takeover, waiter } = request;
  assertNames(request);
  assert(Number.isSafeInteger(ttlMs) && ttlMs > 0, "ttlMs must be a positive integer", ttlMs);
  assert(Number.isSafeInteger(fenceHint), "fenceHint must be a safe integer", fenceHint);
  assert(takeover === undefined || isName(takeover), "takeover must be an owner if given", takeover);
  assertWaiter(waiter);
});

/**
 * The same for an extension.
 *
 * @throws {RangeError} naming the field and what is wanted
 */
export const assertExtend: (request: ExtendRequest) => void = oncePerRequest((request) => {
  const { ttlMs, fence, rejoin } = request;
  assertNames(request);
  assert(Number.isSafeInteger(ttlMs) && ttlMs > 0, "ttlMs must be a positive integer", ttlMs);
  assert(Number.isSafeInteger(fence) && fence > 0, "fence must be a positive safe integer", fence);
  assert(typeof rejoin === "boolean", "rejoin must be true or false", rejoin);
});

/**
 * The same for a release.
 *
 * @throws {RangeError} naming the field and what is wanted
 */
export const assertRelease: (request: ReleaseRequest) => void = oncePerRequest((request) => {
  const { undo, waiter } = request;
  assertNames(request);
  assert(undo === undefined || typeof undo === "boolean", "undo must be true or false if given", undo);
  assertWaiter(waiter);
});

/** All nodes are given the same request: what was found sound, and cannot change, is not checked for each of them. */
function oncePerRequest<Request extends NodeRequest>(check: (request: Request) => void): (request: Request) => void {
  let sound: Request | undefined;
  return (request) => {
    if (request === sound) return;
    check(request);
    if (Object.isFrozen(request) && Object.isFrozen(request.resources)) sound = request;
  };
}

function assertNames({ resources, owner }: NodeRequest): void {
  assert(Array.isArray(resources) && resources.length > 0, "resources must be a list of at least one name", resources);
  for (const resource of resources)
    assert(isName(resource), "each resource must be a string that is not empty", resource);
  assert(isName(owner), "owner must be a string that is not empty", owner);
}

function assertWaiter(waiter: unknown): void {
  assert(waiter === undefined || isName(waiter), "waiter must be a string that is not empty if given", waiter);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function assert(condition: boolean, rule: string, value: unknown): void {
  if (!condition) throw new RangeError(`${rule}, not ${describeValue(value)}`);
}

/** What a node asks of a request before it acts on it. For authors of adapters; core itself sends nothing malformed. */
import { describe } from "./describe.ts";
import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "./lock-node.ts";

/**
 * Throws unless the request is one that the contract allows, so that nothing is claimed by guesswork.
 *
 * @throws {RangeError} naming the field and what is wanted
 */
export function insistOnAcquire({ resources, owner, ttlMs, fenceHint, takeover }: AcquireRequest): void {
  insistOnNames(resources, owner);
  insist(Number.isSafeInteger(ttlMs) && ttlMs > 0, "ttlMs must be a positive integer", ttlMs);
  insist(Number.isSafeInteger(fenceHint), "fenceHint must be a safe integer", fenceHint);
  insist(takeover === undefined || isName(takeover), "takeover must be an owner if given", takeover);
}

/**
 * The same for an extension.
 *
 * @throws {RangeError} naming the field and what is wanted
 */
export function insistOnExtend({ resources, owner, ttlMs, fence, rejoin }: ExtendRequest): void {
  insistOnNames(resources, owner);
  insist(Number.isSafeInteger(ttlMs) && ttlMs > 0, "ttlMs must be a positive integer", ttlMs);
  insist(Number.isSafeInteger(fence), "fence must be a safe integer", fence);
  insist(typeof rejoin === "boolean", "rejoin must be true or false", rejoin);
}

/**
 * The same for a release.
 *
 * @throws {RangeError} naming the field and what is wanted
 */
export function insistOnRelease({ resources, owner }: ReleaseRequest): void {
  insistOnNames(resources, owner);
}

function insistOnNames(resources: readonly string[], owner: string): void {
  insist(Array.isArray(resources) && resources.length > 0, "resources must be a list of at least one name", resources);
  for (const resource of resources)
    insist(isName(resource), "each resource must be a string that is not empty", resource);
  insist(isName(owner), "owner must be a string that is not empty", owner);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function insist(condition: boolean, rule: string, value: unknown): void {
  if (!condition) throw new RangeError(`${rule}, not ${describe(value)}`);
}

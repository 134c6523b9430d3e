import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "@holdfast/core";

/** Longer than any test. */
export const longMs = 600_000;

/** An `acquire` of the resource "r" that nothing hurries. */
export function acquireRequest(owner: string, terms: Partial<AcquireRequest> = {}): AcquireRequest {
  return { resources: ["r"], owner, ttlMs: longMs, fenceHint: 1, timeoutMs: longMs, ...terms };
}

/** An `extend` of the resource "r" that nothing hurries. */
export function extendRequest(owner: string, terms: Partial<ExtendRequest> = {}): ExtendRequest {
  return { resources: ["r"], owner, ttlMs: longMs, fence: 1, rejoin: false, timeoutMs: longMs, ...terms };
}

/** A `release` of the resource "r", unless told otherwise. */
export function releaseRequest(owner: string, resources: readonly string[] = ["r"]): ReleaseRequest {
  return { resources, owner, timeoutMs: longMs };
}

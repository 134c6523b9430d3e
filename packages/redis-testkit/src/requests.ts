import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "@holdfast/core";

/** Longer than any test. */
export const longMs = 600_000;

/** Returns an `acquire` request for the resource "r" without time pressure. */
export function acquireRequest(owner: string, terms: Partial<AcquireRequest> = {}): AcquireRequest {
  return { resources: ["r"], owner, ttlMs: longMs, fenceHint: 1, timeoutMs: longMs, ...terms };
}

/** Returns an `extend` request for the resource "r" without time pressure. */
export function extendRequest(owner: string, terms: Partial<ExtendRequest> = {}): ExtendRequest {
  return { resources: ["r"], owner, ttlMs: longMs, fence: 1, rejoin: false, timeoutMs: longMs, ...terms };
}

/** Returns a `release` request, by default for the resource "r". */
export function releaseRequest(owner: string, resources: readonly string[] = ["r"]): ReleaseRequest {
  return { resources, owner, timeoutMs: longMs };
}

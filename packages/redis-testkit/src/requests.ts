import type { AcquireRequest, ExtendRequest, FenceFloor, ReleaseRequest, ScanPortion } from "@holdfast/core/node";

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

/** Reads all portions of a node. */
export async function scanAll({ scan }: Pick<Required<FenceFloor>, "scan">, terms: { readonly claims?: boolean } = {}) {
  const portions: ScanPortion[] = [];
  for (let cursor: string | undefined; portions.length === 0 || cursor !== undefined; ) {
    const portion = await scan({ ...terms, ...(cursor !== undefined && { cursor }), timeoutMs: longMs });
    portions.push(portion);
    cursor = portion.cursor;
  }
  return {
    portions,
    highest: Math.max(...portions.map(({ highest }) => highest)),
    counters: portions.reduce((sum, { counters }) => sum + counters, 0),
    claims: portions
      .flatMap(({ claims }) => claims)
      .sort((a, b) => (a.resource + a.owner < b.resource + b.owner ? -1 : 1)),
  };
}

// src/acquire.ts
import type { AcquireReply, AcquireRequest } from "@holdfast/core";
import { assertAcquire } from "@holdfast/core/requests";
import type { Claim, Claims } from "./lock-file.ts";

const dayUs = 24 * 60 * 60 * 1_000_000;

/** Claims all the resources, or none. */
export function acquire(claims: Claims, request: AcquireRequest): AcquireReply {
  assertAcquire(request);
  const { resources, owner, ttlMs, fenceHint, takeover } = request;
  const found = resources.map(claims.read);
  if (found.every((claim) => claim.owner === owner)) {
    return { granted: true, fence: highestFence(found) }; // the command was resent
  }
  const inTheWay = found.filter((claim) => claim.owner !== null && claim.owner !== takeover);
  if (inTheWay.length > 0) {
    const freeAtMs = Math.max(...inTheWay.map((claim) => claim.expiresAtMs));
    return { granted: false, retryAfterMs: freeAtMs - claims.nowMs };
  }
  const hint = Math.min(fenceHint, claims.nowMs * 1_000 + dayUs);
  return { granted: true, fence: grant(claims, found, owner, ttlMs, hint) };
}

/** Makes the owner the holder of all the resources, with a fence above all that were granted before. */
export function grant(claims: Claims, found: readonly Claim[], owner: string, ttlMs: number, atLeast: number): number {
  const fence = Math.max(1 + highestFence(found), atLeast);
  if (!Number.isSafeInteger(fence)) throw new RangeError("the fence counter is used up");
  const expiresAtMs = claims.nowMs + ttlMs;
  for (const claim of found) claims.write({ ...claim, owner, expiresAtMs, fence });
  return fence;
}

/** The highest fence counter among several resources. */
export function highestFence(found: readonly Claim[]): number {
  return Math.max(...found.map((claim) => claim.fence));
}

import { EpochError } from "@holdfast/core";
import { type AcquireReply, type AcquireRequest, assertAcquire, type Denial } from "@holdfast/core/node";
import type { Claim, Claims } from "./lock-file.ts";

const dayUs = 24 * 60 * 60 * 1_000_000;

/** Claims all the resources, or none. */
export function acquire(claims: Claims, request: AcquireRequest): AcquireReply {
  assertAcquire(request);
  const { resources, owner, ttlMs, fenceHint, takeover, epoch = 1 } = request;
  const { floor, epoch: served } = claims.readFloor();
  if (served > 0 && Math.abs(epoch - served) > 1) throw new EpochError(served, epoch);
  const found = resources.map(claims.read);
  if (found.every((claim) => claim.owner === owner)) {
    return { granted: true, fence: highestFence(found) }; // the command was resent
  }
  const blocking = found.filter((claim) => claim.owner !== null && claim.owner !== takeover);
  if (blocking.length > 0) return denial(claims.nowMs, blocking, owner);
  const hint = Math.min(fenceHint, claims.nowMs * 1_000 + dayUs);
  const fence = grant(claims, found, owner, ttlMs, Math.max(1 + floor, hint));
  return { granted: true, fence, ...(resources.length > 1 && { uniform: true }) };
}

/** Describes the blocking claims. They may be of the same owner, if it holds only some of the resources. */
function denial(nowMs: number, blocking: readonly Claim[], owner: string): Denial {
  const last = blocking.reduce((one, other) => (other.expiresAtMs > one.expiresAtMs ? other : one));
  const heldResources = blocking.filter((claim) => claim.owner !== owner).map(({ resource }) => resource);
  return {
    granted: false,
    retryAfterMs: last.expiresAtMs - nowMs,
    ...(last.owner !== null && last.owner !== owner && { holder: last.owner }),
    ...(heldResources.length > 0 && { heldResources }),
  };
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
  return found.reduce((highest, { fence }) => Math.max(highest, fence), 0);
}

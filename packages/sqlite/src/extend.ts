import { assertExtend, type ExtendReply, type ExtendRequest } from "@holdfast/core/node";
import { grant, highestFence } from "./acquire.ts";
import type { Claims } from "./lock-file.ts";

/** Keeps a claim for another ttl, and raises the fence counters. */
export function extend(claims: Claims, request: ExtendRequest): ExtendReply {
  assertExtend(request);
  const { resources, owner, ttlMs, fence, rejoin } = request;
  const found = resources.map(claims.read);
  if (found.every((claim) => claim.owner === owner)) {
    for (const claim of found) {
      const expiresAtMs = Math.max(claim.expiresAtMs, claims.nowMs + ttlMs);
      claims.write({ ...claim, expiresAtMs, fence: Math.max(claim.fence, fence) });
    }
    return { held: true, fence: Math.max(highestFence(found), fence) };
  }
  const holder = found.find((claim) => claim.owner !== null && claim.owner !== owner)?.owner;
  if (holder) return { held: false, rejoined: false, holder };
  if (rejoin) grant(claims, found, owner, ttlMs, fence);
  return { held: false, rejoined: rejoin };
}

import { assertRelease, type ReleaseReply, type ReleaseRequest } from "@holdfast/core/node";
import type { Claims } from "./lock-file.ts";

/** Frees those of the resources that the owner holds, and keeps their fence counters. */
export function release(claims: Claims, request: ReleaseRequest): ReleaseReply {
  assertRelease(request);
  const { resources, owner, undo } = request;
  const held = resources.map(claims.read).filter((claim) => claim.owner === owner);
  for (const claim of held) {
    claims.write({ ...claim, owner: null });
    if (!undo) claims.announce(claim.resource);
  }
  return { released: held.length > 0 };
}

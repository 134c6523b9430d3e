// src/release.ts
import type { ReleaseReply, ReleaseRequest } from "@holdfast/core";
import { assertRelease } from "@holdfast/core/requests";
import type { Claims } from "./lock-file.ts";

/** Frees those of the resources that the owner holds, and keeps their fence counters. */
export function release(claims: Claims, request: ReleaseRequest): ReleaseReply {
  assertRelease(request);
  const { resources, owner } = request;
  const held = resources.map(claims.read).filter((claim) => claim.owner === owner);
  for (const claim of held) claims.write({ ...claim, owner: null, releases: claim.releases + 1 });
  return { released: held.length > 0 };
}

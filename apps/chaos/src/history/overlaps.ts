import type { Visit } from "./visit.ts";

/** Two clients that both had the right to believe that they held the lock. */
export interface Overlap {
  readonly earlier: Visit;
  readonly later: Visit;
}

/** Grants during the validity of a lock that another client held. */
export function overlapsOf(visits: readonly Visit[]): readonly Overlap[] {
  const found: Overlap[] = [];
  let longest: Visit | undefined;
  for (const later of [...visits].sort((a, b) => a.grantedAtMs - b.grantedAtMs)) {
    if (longest !== undefined && later.grantedAtMs < longest.heldUntilMs) found.push({ earlier: longest, later });
    if (longest === undefined || later.heldUntilMs > longest.heldUntilMs) longest = later;
  }
  return found;
}

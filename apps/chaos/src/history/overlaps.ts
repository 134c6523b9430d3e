import type { Visit } from "./visit.ts";

/** Two clients that both had the right to rely on the lock. */
export interface Overlap {
  readonly earlier: Visit;
  readonly later: Visit;
}

/** Finds grants during the validity of a lock that another client held. */
export function overlapsOf(visits: readonly Visit[]): readonly Overlap[] {
  const found: Overlap[] = [];
  let longest: Visit | undefined;
  for (const later of [...visits].sort((a, b) => a.grantedAtMs - b.grantedAtMs)) {
    if (longest !== undefined && later.grantedAtMs < longest.heldUntilMs) found.push({ earlier: longest, later });
    if (longest === undefined || later.heldUntilMs > longest.heldUntilMs) longest = later;
  }
  return found;
}

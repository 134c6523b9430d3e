import type { Visit } from "./visit.ts";

/** Finds locks whose token is not unique, or not larger than that of a lock granted before their attempt began. */
export function tokenFaultsOf(visits: readonly Visit[]): readonly Visit[] {
  const completed = [...visits].sort((a, b) => a.grantedAtMs - b.grantedAtMs);
  const seen = new Set<number>();
  const faults: Visit[] = [];
  let next = 0;
  let largestBefore = 0;
  for (const visit of [...visits].sort((a, b) => a.attemptAtMs - b.attemptAtMs)) {
    for (; (completed[next]?.grantedAtMs ?? Number.POSITIVE_INFINITY) < visit.attemptAtMs; next++)
      largestBefore = Math.max(largestBefore, completed[next]?.fence ?? 0);
    if (visit.fence <= largestBefore || seen.has(visit.fence)) faults.push(visit);
    seen.add(visit.fence);
  }
  return faults;
}

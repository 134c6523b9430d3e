/** Visits under locks: how long a holder may rely on its lock, and checks of all visits under one lock. */
import type { Lock } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";

/** Records from now on how long a holder may rely on its lock. */
export function believe(lock: Pick<Lock, "signal" | "remainingMs">) {
  const grantedAtMs = monotonicMs();
  let validUntilMs = grantedAtMs;
  const renew = (): void => {
    const nowMs = monotonicMs(); // read first, so that a pause in between shortens the time, and never lengthens it
    const leftMs = lock.remainingMs();
    if (leftMs > 0) validUntilMs = nowMs + leftMs; // otherwise it ended earlier, such as during a pause
  };
  renew();
  // A lock may end slightly before the end of its validity, because the clock that counts suspensions ticks in whole
  // milliseconds.
  lock.signal.addEventListener("abort", () => {
    validUntilMs = Math.min(validUntilMs, monotonicMs());
  });
  return {
    grantedAtMs,
    renew,
    /** Returns the end of the validity as the lock now tells it, which may have been extended automatically. */
    validUntilMs(): number {
      renew();
      return validUntilMs;
    },
    /** Returns how long the holder could rely on the lock, if the visit ends now, and why it cannot any more. */
    end(): { readonly heldUntilMs: number; readonly end: "released" | "lost" } {
      renew();
      const nowMs = monotonicMs();
      return { heldUntilMs: Math.min(nowMs, validUntilMs), end: nowMs < validUntilMs ? "released" : "lost" };
    },
  };
}

/** The time under a lock. Times are milliseconds on one clock. */
export interface LockedTime {
  readonly fence: number;
  /** A time at or before the first request of the successful attempt. */
  readonly attemptAtMs: number;
  readonly grantedAtMs: number;
  /** The end of the right to rely on the lock: the release, the loss, or the end of the validity. */
  readonly heldUntilMs: number;
}

/** Two holders that both had the right to rely on the lock. */
export interface Overlap<Visit> {
  readonly earlier: Visit;
  readonly later: Visit;
}

/** Finds grants during the validity of a lock that another holder had. */
export function overlapsOf<Visit extends LockedTime>(visits: readonly Visit[]): readonly Overlap<Visit>[] {
  const found: Overlap<Visit>[] = [];
  let longest: Visit | undefined;
  for (const later of visits.toSorted((a, b) => a.grantedAtMs - b.grantedAtMs)) {
    if (longest !== undefined && later.grantedAtMs < longest.heldUntilMs) found.push({ earlier: longest, later });
    if (longest === undefined || later.heldUntilMs > longest.heldUntilMs) longest = later;
  }
  return found;
}

/** Finds locks whose token is not unique, or not larger than that of a lock granted before their attempt began. */
export function tokenFaultsOf<Visit extends LockedTime>(visits: readonly Visit[]): readonly Visit[] {
  const completed = visits.toSorted((a, b) => a.grantedAtMs - b.grantedAtMs);
  const seen = new Set<number>();
  const faults: Visit[] = [];
  let next = 0;
  let largestBefore = 0;
  for (const visit of visits.toSorted((a, b) => a.attemptAtMs - b.attemptAtMs)) {
    for (; (completed[next]?.grantedAtMs ?? Number.POSITIVE_INFINITY) < visit.attemptAtMs; next++)
      largestBefore = Math.max(largestBefore, completed[next]?.fence ?? 0);
    if (visit.fence <= largestBefore || seen.has(visit.fence)) faults.push(visit);
    seen.add(visit.fence);
  }
  return faults;
}

import type { Finding, History, LockRecord } from "../history/history.ts";
import { conflict, overlap } from "../history/resources.ts";
import { backlogs, expenses } from "./cost-checkers.ts";
import { mayBeUnordered, mayJoinStaleClaim } from "./counter-losses.ts";
import { queueJumps, starvation } from "./order-checkers.ts";
import { delays, monopolies, standstills } from "./waiting-checkers.ts";
import { type WaitingLimits, waitingLimits } from "./waiting-limits.ts";

/** The names of the checkers that judge every history. */
export type Checker =
  | "mutual exclusion"
  | "fence order"
  | "fenced storage"
  | "liveness"
  | "progress"
  | "fairness"
  | "queue order"
  | "cost"
  | "bounds"
  | "clean end";

/** A finding and its checker. */
export interface Violation extends Finding {
  /** Which checker found it. */
  readonly checker: Checker;
}

/** The checkers, by name. Each returns what it finds wrong in a history. */
export const checkers: Readonly<Record<Checker, (history: History, limits: WaitingLimits) => Finding[]>> = {
  "mutual exclusion": overlaps,
  "fence order": disorder,
  "fenced storage": unfenced,
  liveness: (history, limits) => [
    ...history.brokenInvariants,
    ...stagnation(history),
    ...delays(history, limits),
    ...monopolies(history),
  ],
  progress: standstills,
  fairness: starvation,
  "queue order": queueJumps,
  cost: expenses,
  bounds: backlogs,
  "clean end": ({ misbehaviour, leaks }) => [...misbehaviour, ...leaks],
};

/**
 * Returns all violations in a history, the earliest first.
 *
 * @param history what happened in a run
 * @param limits limits of waiting that replace the defaults
 *
 * @example
 * ```ts
 * import { check, drawScenario, simulate } from "@holdfast/simulation";
 *
 * const { history } = await simulate(drawScenario("survivable", 1));
 * console.log(check(history, { requestsPerCall: 100 }).length); // 0
 * ```
 */
export function check(history: History, limits: Partial<WaitingLimits> = {}): Violation[] {
  const all = { ...waitingLimits, ...limits };
  const violations = Object.entries(checkers).flatMap(([checker, find]) =>
    find(history, all).map((violation) => ({ checker: checker as Checker, ...violation })),
  );
  return violations.sort((a, b) => a.atMs - b.atMs);
}

/**
 * Finds two locks on one resource, at least one of them exclusive, whose holders both had reason to believe at the same
 * time that theirs was valid.
 */
function overlaps({ locks }: History): Finding[] {
  return findInPairs(locks, (a, b) => {
    if (!conflict(a, b)) return undefined;
    if (a.seenValid === undefined || b.seenValid === undefined) return undefined;
    const fromMs = Math.max(a.seenValid.fromMs, b.seenValid.fromMs);
    if (fromMs > Math.min(a.seenValid.untilMs, b.seenValid.untilMs)) return undefined;
    return {
      atMs: fromMs,
      what: `locks ${a.attempt} and ${b.attempt} on ${common(a, b)} are both believed to be valid`,
    };
  });
}

/**
 * Finds tokens of a resource that repeat, or that do not grow from a lock to one requested after it was granted. Shared
 * locks may have the same token.
 */
function disorder({ locks, counterLosses, staleClaims }: History): Finding[] {
  return findInPairs(locks, (a, b) => {
    if (mayBeUnordered(a, b, counterLosses)) return undefined;
    const atMs = Math.max(a.grantedAtMs, b.grantedAtMs);
    const [first, second] = a.grantedAtMs < b.startedAtMs ? [a, b] : [b, a];
    if (a.fence === b.fence) {
      if (!conflict(a, b)) return undefined;
      return { atMs, what: `locks ${a.attempt} and ${b.attempt} on ${common(a, b)} both have the token ${a.fence}` };
    }
    if (first.grantedAtMs >= second.startedAtMs || first.fence < second.fence) return undefined;
    if (mayJoinStaleClaim(first, second, staleClaims)) return undefined;
    const later = `lock ${second.attempt}, requested after lock ${first.attempt} was granted`;
    return { atMs, what: `${later}, has the smaller token on ${common(a, b)}: ${second.fence} after ${first.fence}` };
  });
}

/** Finds updates that a storage lost, and values that it changed under a shared lock, although it checks every token. */
function unfenced({ lostUpdates, nonrepeatableReads, locks, counterLosses }: History): Finding[] {
  const areOrdered = areOrderedIn(locks, counterLosses);
  const lost = lostUpdates.map(({ lost: one, by, resource, ...event }) => {
    return { ...event, one, other: by, what: `lock ${by} overwrote the update of lock ${one} on ${resource}` };
  });
  const changed = nonrepeatableReads.map(({ reader: one, writer, resource, ...event }) => {
    return {
      ...event,
      one,
      other: writer,
      what: `lock ${writer} changed ${resource} between two reads of lock ${one}`,
    };
  });
  return [...lost, ...changed]
    .filter(({ storage, one, other }) => storage === "is guarded" && areOrdered(one, other))
    .map(({ atMs, what }) => ({ atMs, what: `${what}, in a storage that checks every token` }));
}

/** Returns whether the tokens of two attempts, by their names, must be in order. */
function areOrderedIn(
  locks: readonly LockRecord[],
  losses: History["counterLosses"],
): (one: string, other: string) => boolean {
  if (losses.length === 0) return () => true;
  const lockOf = new Map(locks.map((lock) => [lock.attempt, lock]));
  return (one, other) => {
    const [a, b] = [lockOf.get(one), lockOf.get(other)];
    return a === undefined || b === undefined || !mayBeUnordered(a, b, losses);
  };
}

function stagnation({ recovery }: History): Finding[] {
  if (recovery === undefined) return [];
  const { fromMs, boundMs, lockedAtMs } = recovery;
  if (lockedAtMs !== undefined && lockedAtMs <= fromMs + boundMs) return [];
  return [
    { atMs: fromMs + boundMs, what: `no client got a lock within ${Math.round(boundMs)} ms after the last fault` },
  ];
}

/** Looks at all pairs of locks that have a resource in common. */
function findInPairs(
  locks: readonly LockRecord[],
  find: (a: LockRecord, b: LockRecord) => Finding | undefined,
): Finding[] {
  const found: Finding[] = [];
  for (const [index, a] of locks.entries()) {
    for (let other = index + 1; other < locks.length; other++) {
      const b = locks[other] as LockRecord;
      const finding = overlap(a, b) ? find(a, b) : undefined;
      if (finding !== undefined) found.push(finding);
    }
  }
  return found;
}

function common(a: LockRecord, b: LockRecord): string[] {
  return a.resources.filter((resource) => b.resources.includes(resource));
}

import { overlapsOf, tokenFaultsOf } from "@holdfast/history/checks";
import type { Finding, History, LockRecord } from "../history/history.ts";
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

/** After how long a lock that was seen valid may have ended, in milliseconds: less than between any two events. */
const instantMs = 1e-6;

/**
 * Finds two locks on one resource, at least one of them exclusive, whose holders both had reason to believe at the same
 * time that theirs was valid.
 */
function overlaps({ locks }: History): Finding[] {
  const believed = locks.flatMap(({ seenValid, startedAtMs: attemptAtMs, ...lock }) => {
    if (seenValid === undefined) return [];
    return [{ ...lock, attemptAtMs, grantedAtMs: seenValid.fromMs, heldUntilMs: seenValid.untilMs + instantMs }];
  });
  return overlapsOf(believed).map(({ earlier: a, later: b }) => ({
    atMs: b.grantedAtMs,
    what: `locks ${a.attempt} and ${b.attempt} on ${common(a, b)} are both believed to be valid`,
  }));
}

/**
 * Finds tokens of a resource that repeat, or that do not grow from a lock to one requested after it was granted. Shared
 * locks may have the same token.
 */
function disorder({ locks, counterLosses, staleClaims }: History): Finding[] {
  const timed = locks.map((lock) => ({ ...lock, attemptAtMs: lock.startedAtMs, heldUntilMs: lock.grantedAtMs }));
  const isExempt = (a: LockRecord, b: LockRecord): boolean =>
    mayBeUnordered(a, b, counterLosses) || (a.fence !== b.fence && mayJoinStaleClaim(a, b, staleClaims));
  return tokenFaultsOf(timed, isExempt).map(({ earlier: a, later: b }) => {
    const later = `lock ${b.attempt}, requested after lock ${a.attempt} was granted`;
    const what =
      a.fence === b.fence
        ? `locks ${a.attempt} and ${b.attempt} on ${common(a, b)} both have the token ${a.fence}`
        : `${later}, has the smaller token on ${common(a, b)}: ${b.fence} after ${a.fence}`;
    return { atMs: b.grantedAtMs, what };
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

function common(a: Pick<LockRecord, "resources">, b: Pick<LockRecord, "resources">): string[] {
  return a.resources.filter((resource) => b.resources.includes(resource));
}

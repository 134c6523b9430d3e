import type { Finding, History, LockRecord } from "../history/history.ts";
import { backlogs, expenses } from "./cost-checkers.ts";
import { queueJumps, starvation } from "./order-checkers.ts";
import { delays, monopolies, standstills } from "./waiting-checkers.ts";
import { type WaitingLimits, waitingLimits } from "./waiting-limits.ts";

/** What is checked of every history. */
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

/** A finding, and the checker that made it. */
export interface Violation extends Finding {
  /** Which checker found it. */
  readonly checker: Checker;
}

/** What each checker demands, and how it judges a history. */
export const checkers: Readonly<Record<Checker, (history: History, limits: WaitingLimits) => Finding[]>> = {
  "mutual exclusion": overlaps,
  "fence order": disorder,
  "fenced storage": lostInFencedStorage,
  liveness: (history, limits) => [...stagnation(history), ...delays(history, limits), ...monopolies(history)],
  progress: standstills,
  fairness: starvation,
  "queue order": queueJumps,
  cost: expenses,
  bounds: backlogs,
  "clean end": ({ misbehaviour, leaks }) => [...misbehaviour, ...leaks],
};

/**
 * All violations of a history, the earliest first.
 *
 * @param limits what waiters are promised, where it differs from the defaults
 */
export function check(history: History, limits: Partial<WaitingLimits> = {}): Violation[] {
  const all = { ...waitingLimits, ...limits };
  const violations = Object.entries(checkers).flatMap(([checker, find]) =>
    find(history, all).map((violation) => ({ checker: checker as Checker, ...violation })),
  );
  return violations.sort((a, b) => a.atMs - b.atMs);
}

/** Two locks on one resource of which two holders had reason to believe at the same time that it was theirs. */
function overlaps({ locks }: History): Finding[] {
  return pairsOf(locks).flatMap(([a, b]) => {
    if (a.seenValid === undefined || b.seenValid === undefined) return [];
    const fromMs = Math.max(a.seenValid.fromMs, b.seenValid.fromMs);
    if (fromMs > Math.min(a.seenValid.untilMs, b.seenValid.untilMs)) return [];
    return [{ atMs: fromMs, what: `locks ${a.attempt} and ${b.attempt} on ${shared(a, b)} are both believed valid` }];
  });
}

/** Tokens of one resource are unique, and a lock that was granted before another was asked for has the smaller one. */
function disorder({ locks }: History): Finding[] {
  return pairsOf(locks).flatMap(([a, b]) => {
    const atMs = Math.max(a.grantedAtMs, b.grantedAtMs);
    const [first, second] = a.grantedAtMs < b.startedAtMs ? [a, b] : [b, a];
    if (a.fence === b.fence) {
      return [{ atMs, what: `locks ${a.attempt} and ${b.attempt} on ${shared(a, b)} both have the token ${a.fence}` }];
    }
    if (first.grantedAtMs >= second.startedAtMs || first.fence < second.fence) return [];
    const later = `lock ${second.attempt}, asked for after lock ${first.attempt} was granted`;
    return [{ atMs, what: `${later}, has the smaller token on ${shared(a, b)}: ${second.fence} after ${first.fence}` }];
  });
}

function lostInFencedStorage({ lostUpdates }: History): Finding[] {
  return lostUpdates
    .filter(({ storage }) => storage === "checks all")
    .map(({ atMs, resource, lost, by }) => ({
      atMs,
      what: `the update of lock ${lost} on ${resource} is lost to lock ${by}, in a storage that checks every token`,
    }));
}

function stagnation({ recovery }: History): Finding[] {
  if (recovery === undefined) return [];
  const { fromMs, boundMs, lockedAtMs } = recovery;
  if (lockedAtMs !== undefined && lockedAtMs <= fromMs + boundMs) return [];
  return [{ atMs: fromMs + boundMs, what: `nobody got a lock within ${Math.round(boundMs)} ms without any fault` }];
}

/** All pairs of locks that have a resource in common. */
function pairsOf(locks: readonly LockRecord[]): [LockRecord, LockRecord][] {
  return locks.flatMap((a, index) =>
    locks
      .slice(index + 1)
      .filter((b) => shared(a, b).length > 0)
      .map((b): [LockRecord, LockRecord] => [a, b]),
  );
}

function shared(a: LockRecord, b: LockRecord): string[] {
  return a.resources.filter((resource) => b.resources.includes(resource));
}

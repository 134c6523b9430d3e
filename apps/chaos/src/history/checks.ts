/** Checks of the locks that clients held. */
import { type LockPair, overlapsOf, tokenFaultsOf } from "@holdfast/history/checks";
import type { Sets, Visit } from "./visit.ts";

/** What the visits of one lock show, and its sets at the end. */
export type Checks = ReturnType<typeof checksOf>;

/** Checks all visits of one lock. */
export function checksOf(visits: readonly Visit[], sets: Sets) {
  const losses = lossesOf(visits, sets);
  return {
    ...lockChecks(visits),
    lostPlain: losses.plain,
    // The lock is not to blame for a write after its end: any busy machine may pause a process.
    lockFaults: visits.some(({ plain }) => plain === "late") ? [] : losses.plain,
    lostFenced: losses.fenced,
  };
}

/** Checks the locks alone, on any resources. */
export function lockChecks(visits: readonly Visit[]) {
  const locks = visits.map((visit) => ({ ...visit, resources: visit.resource.split(","), visit }));
  const visitsOf = ({ earlier, later }: LockPair<{ readonly visit: Visit }>): LockPair<Visit> => {
    return { earlier: earlier.visit, later: later.visit };
  };
  return { overlaps: overlapsOf(locks).map(visitsOf), tokenFaults: tokenFaultsOf(locks).map(visitsOf) };
}

/** How many findings of one kind several locks have. */
export function countOf(all: readonly Partial<Checks>[], kind: keyof Checks): number {
  return all.reduce((total, checks) => total + (checks[kind]?.length ?? 0), 0);
}

/** The promises that were broken, in words. */
export function brokenPromises(all: readonly Partial<Checks>[], isExclusive: boolean): string[] {
  const broken = (kind: keyof Checks, what: string): string[] => {
    const count = countOf(all, kind);
    return count === 0 ? [] : [`${what}: ${count}`];
  };
  const always = [
    ...broken("tokenFaults", "tokens that are not larger than all before"),
    ...broken("lostFenced", "updates lost though the set checks tokens"),
  ];
  if (!isExclusive) return always;
  return [
    ...always,
    ...broken("overlaps", "grants while another client held the lock"),
    ...broken("lockFaults", "updates lost though the lock was held all the time"),
    ...all.flatMap(({ overlaps = [] }) => overlaps.slice(0, 5).map(describeOverlap)),
  ];
}

function describeOverlap({ earlier, later }: LockPair<Visit>): string {
  const lateMs = Math.round(earlier.heldUntilMs - later.grantedAtMs);
  const [first, second] = [earlier, later].map(({ client, fence }) => `${client} (token ${fence})`);
  return `${second} got a lock ${lateMs} ms before that of ${first} ended: ${earlier.end}`;
}

/** Finds confirmed elements that are missing in the sets at the end, because another client's write undid them. */
export function lossesOf(visits: readonly Visit[], sets: Sets): Sets {
  const missing = (from: readonly string[], wrote: (visit: Visit) => boolean): string[] => {
    const present = new Set(from);
    return visits.filter((visit) => wrote(visit) && !present.has(visit.element)).map(({ element }) => element);
  };
  return {
    plain: missing(sets.plain, ({ plain }) => plain !== "skipped"),
    fenced: missing(sets.fenced, ({ fenced }) => fenced === "written"),
  };
}

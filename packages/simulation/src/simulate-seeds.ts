import { type Checker, checkers } from "./check/checkers.ts";
import type { StorageKind } from "./history/history.ts";
import { drawScenario } from "./scenario/draw-scenario.ts";
import type { FaultKind } from "./scenario/fault.ts";
import { type FaultClassName, faultClasses } from "./scenario/fault-classes.ts";
import { type Run, type StartInvariant, simulate } from "./simulate.ts";
import type { CreateNode } from "./world/node-host.ts";

/** Options of `simulateSeeds`. */
export interface SeedsOptions {
  /** The class of the faults. */
  readonly faults: FaultClassName;
  /** The first seed. Default 1. */
  readonly from?: number | undefined;
  /** How many consecutive seeds to simulate. */
  readonly count: number;
  /** Creates the nodes. Default: memory nodes. */
  readonly createNode?: CreateNode | undefined;
  /** A further check of each step. Default: none. */
  readonly invariant?: StartInvariant | undefined;
}

/** The summed results of many seeds. */
export interface Tally {
  /** The number of seeds. */
  readonly runs: number;
  /** Operations that ended: a lock that was acquired and ended again, or not acquired. */
  readonly operations: number;
  /** Locks that clients acquired. */
  readonly locks: number;
  /** How many of them were shared. */
  readonly sharedLocks: number;
  /** Locks that were handed over from one call of a process to the next. */
  readonly handOvers: number;
  /** Notifications that reached clients. */
  readonly notifications: number;
  /** Notifications that named the receiving client as the next. */
  readonly turns: number;
  /** Changes of the set of nodes that were completed. */
  readonly changes: number;
  /** Nodes that came back empty and that an operator healed. */
  readonly healings: number;
  /** How often a fault of each kind struck. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** In how many runs each checker found something, and the first seed for which it did. */
  readonly violations: Readonly<Record<Checker, FoundBy>>;
  /** How many updates each kind of storage lost. */
  readonly lostUpdates: Readonly<Record<StorageKind, number>>;
  /** How many values each kind of storage changed between two reads under one shared lock. */
  readonly nonrepeatableReads: Readonly<Record<StorageKind, number>>;
}

/** The runs in which a checker found something. */
export interface FoundBy {
  /** How many runs. */
  readonly runs: number;
  /** The first seed of these runs; undefined if there is none. */
  readonly firstSeed: number | undefined;
}

/**
 * Simulates the scenarios of many seeds. The same seeds always give the same tally.
 *
 * @throws {RangeError} (as a rejection) if there is no such class, or `count` is not a whole number from 1
 *
 * @example
 * ```ts
 * import { simulateSeeds, unexpectedViolations } from "@holdfast/simulation";
 *
 * const tally = await simulateSeeds({ faults: "survivable", count: 5 });
 * console.log(tally.locks, unexpectedViolations("survivable", tally)); // … []
 * ```
 */
export async function simulateSeeds({ faults, from = 1, count, ...options }: SeedsOptions): Promise<Tally> {
  if (!(Number.isSafeInteger(count) && count > 0))
    throw new RangeError(`count must be a whole number from 1, not ${count}`);
  let tally = emptyTally();
  for (let seed = from; seed < from + count; seed++) {
    const run = await simulate(drawScenario(faults, seed), options);
    tally = addTallies(tally, tallyOf(run, seed));
  }
  return tally;
}

/**
 * Describes how the runs violate what the class of faults guarantees. Empty if they do not.
 *
 * @param faults the class of the faults of all these runs
 * @param tally the tally of the runs
 *
 * @example
 * ```ts
 * import { simulateSeeds, unexpectedViolations } from "@holdfast/simulation";
 *
 * console.log(unexpectedViolations("survivable", await simulateSeeds({ faults: "survivable", count: 5 }))); // []
 * ```
 */
export function unexpectedViolations(faults: FaultClassName, tally: Tally): string[] {
  const { mayBreak } = faultClasses[faults];
  const found = Object.entries(tally.violations) as [Checker, FoundBy][];
  const broken = found
    .filter(([checker, { runs }]) => runs > 0 && !mayBreak.includes(checker))
    .map(([checker, { runs, firstSeed }]) => `${checker} is violated in ${runs} runs, first by seed ${firstSeed}`);
  const unbroken = missingViolation(faults, tally);
  if (unbroken === undefined) return broken;
  return [...broken, `${unbroken} holds in all ${tally.runs} runs, although these faults should violate it`];
}

/**
 * Returns the checker that these faults should have made fail in this many runs, if it did not.
 *
 * @param faults the class of the faults of all these runs
 * @param tally the tally of the runs
 *
 * @example
 * ```ts
 * import { missingViolation, simulateSeeds } from "@holdfast/simulation";
 *
 * const tally = await simulateSeeds({ faults: "lock-breaking", count: 5 });
 * console.log(missingViolation("lock-breaking", tally)); // undefined: five runs are too few to tell
 * ```
 */
export function missingViolation(faults: FaultClassName, { runs, violations }: Tally): Checker | undefined {
  const [checker] = faultClasses[faults].mayBreak;
  return checker !== undefined && runs >= enoughRuns && violations[checker].runs === 0 ? checker : undefined;
}

/** The counts of a tally that are single numbers. */
const counts = [
  ...(["runs", "operations", "locks", "sharedLocks", "handOvers"] as const),
  ...(["notifications", "turns", "changes", "healings"] as const),
];
type Count = (typeof counts)[number];

/** In this many runs, faults that can break a guarantee do break it. */
const enoughRuns = 100;

/**
 * Returns the tally of no runs.
 *
 * @example
 * ```ts
 * import { addTallies, emptyTally, simulateSeeds } from "@holdfast/simulation";
 *
 * let all = emptyTally();
 * for (const from of [1, 6]) all = addTallies(all, await simulateSeeds({ faults: "survivable", from, count: 5 }));
 * console.log(all.runs); // 10
 * ```
 */
export function emptyTally(): Tally {
  const none: FoundBy = { runs: 0, firstSeed: undefined };
  const violations = Object.fromEntries(Object.keys(checkers).map((checker) => [checker, none]));
  return {
    ...(Object.fromEntries(counts.map((count) => [count, 0])) as Record<Count, number>),
    faults: {},
    violations: violations as Record<Checker, FoundBy>,
    lostUpdates: { "is guarded": 0, "checks all": 0, "checks writes": 0, "checks nothing": 0 },
    nonrepeatableReads: { "is guarded": 0, "checks all": 0, "checks writes": 0, "checks nothing": 0 },
  };
}

/**
 * Adds two tallies. The order does not matter.
 *
 * @example
 * ```ts
 * import { addTallies, simulateSeeds } from "@holdfast/simulation";
 *
 * const first = await simulateSeeds({ faults: "survivable", from: 1, count: 5 });
 * const second = await simulateSeeds({ faults: "survivable", from: 6, count: 5 });
 * console.log(addTallies(first, second).runs); // 10
 * ```
 */
export function addTallies(a: Tally, b: Tally): Tally {
  const first = (one: FoundBy, other: FoundBy): FoundBy => {
    const seeds = [one.firstSeed, other.firstSeed].filter((seed) => seed !== undefined);
    return { runs: one.runs + other.runs, firstSeed: seeds.length > 0 ? Math.min(...seeds) : undefined };
  };
  const sum = (one = 0, other = 0): number => one + other;
  return {
    ...(Object.fromEntries(counts.map((count) => [count, a[count] + b[count]])) as Record<Count, number>),
    faults: combine(a.faults, b.faults, sum),
    violations: combine(a.violations, b.violations, first) as Tally["violations"],
    lostUpdates: combine(a.lostUpdates, b.lostUpdates, sum) as Tally["lostUpdates"],
    nonrepeatableReads: combine(a.nonrepeatableReads, b.nonrepeatableReads, sum) as Tally["nonrepeatableReads"],
  };
}

function combine<Key extends string, T>(
  a: Readonly<Partial<Record<Key, T>>>,
  b: Readonly<Partial<Record<Key, T>>>,
  join: (one: T, other: T) => T,
): Partial<Record<Key, T>> {
  const joined: Partial<Record<Key, T>> = { ...a };
  for (const [key, value] of Object.entries(b) as [Key, T][]) {
    const mine = joined[key];
    joined[key] = mine === undefined ? value : join(mine, value);
  }
  return joined;
}

function tallyOf(run: Run, seed: number): Tally {
  const { operations, notifications, turns, changes, history, struck, violations } = run;
  const found = [...new Set(violations.map(({ checker }) => checker))];
  const none = emptyTally();
  return {
    runs: 1,
    operations,
    locks: history.locks.length,
    sharedLocks: history.locks.filter(({ mode }) => mode === "shared").length,
    handOvers: history.locks.filter(({ takenOverFrom }) => takenOverFrom !== undefined).length,
    notifications,
    turns,
    changes,
    healings: history.counterLosses.filter(({ healedAtMs }) => healedAtMs !== undefined).length,
    faults: counted(struck.map(({ kind }) => kind)),
    violations: {
      ...none.violations,
      ...Object.fromEntries(found.map((checker) => [checker, { runs: 1, firstSeed: seed }])),
    },
    lostUpdates: { ...none.lostUpdates, ...counted(history.lostUpdates.map(({ storage }) => storage)) },
    nonrepeatableReads: {
      ...none.nonrepeatableReads,
      ...counted(history.nonrepeatableReads.map(({ storage }) => storage)),
    },
  };
}

function counted<Key extends string>(keys: readonly Key[]): Partial<Record<Key, number>> {
  const counts: Partial<Record<Key, number>> = {};
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

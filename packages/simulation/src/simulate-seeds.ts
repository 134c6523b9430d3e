import { type Checker, checkers } from "./check/checkers.ts";
import type { StorageKind } from "./history/history.ts";
import { drawScenario } from "./scenario/draw-scenario.ts";
import type { FaultKind } from "./scenario/fault.ts";
import { type FaultClassName, faultClasses } from "./scenario/fault-classes.ts";
import { type Run, simulate } from "./simulate.ts";
import type { CreateNode } from "./world/node-host.ts";

/** Which seeds to simulate. */
export interface SeedsOptions {
  /** The class of the faults. */
  readonly faults: FaultClassName;
  /** The first seed. Default 1. */
  readonly from?: number | undefined;
  /** How many seeds, one after another. */
  readonly count: number;
  /** Makes the nodes. Default: memory nodes. */
  readonly createNode?: CreateNode | undefined;
}

/** What the runs of many seeds came to. */
export interface Tally {
  /** How many seeds. */
  readonly runs: number;
  /** Operations of clients that ended: a lock acquired and given up again, or not acquired. */
  readonly operations: number;
  /** Locks that clients were given. */
  readonly locks: number;
  /** Those of them that were handed over within a process, from call to call. */
  readonly handOvers: number;
  /** How often a node's word that something was released reached a client. */
  readonly notifications: number;
  /** How often a node named the client that it told as the one whose turn it is. */
  readonly turns: number;
  /** How often a fault of each kind struck. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** In how many runs each checker found something, and the first seed for which it did. */
  readonly violations: Readonly<Record<Checker, FoundBy>>;
  /** How many updates each kind of storage lost. */
  readonly lostUpdates: Readonly<Record<StorageKind, number>>;
}

/** What a checker found in many runs. */
export interface FoundBy {
  /** In how many runs. */
  readonly runs: number;
  /** The first seed of those; undefined if there is none. */
  readonly firstSeed: number | undefined;
}

/**
 * Simulates the scenarios of many seeds. The same seeds always come to the same.
 *
 * @throws {RangeError} (as a rejection) if there is no such class, or `count` is no whole number from 1
 */
export async function simulateSeeds({ faults, from = 1, count, createNode }: SeedsOptions): Promise<Tally> {
  if (!(Number.isSafeInteger(count) && count > 0)) throw new RangeError(`count must be from 1, not ${count}`);
  let tally = emptyTally();
  for (let seed = from; seed < from + count; seed++) {
    const run = await simulate(drawScenario(faults, seed), { createNode });
    tally = addTallies(tally, tallyOf(run, seed));
  }
  return tally;
}

/** What must not be, in words: empty if the runs came to what the class of their faults demands. */
export function complaints(faults: FaultClassName, tally: Tally): string[] {
  const { mayBreak } = faultClasses[faults];
  const found = Object.entries(tally.violations) as [Checker, FoundBy][];
  const broken = found
    .filter(([checker, { runs }]) => runs > 0 && !mayBreak.includes(checker))
    .map(([checker, { runs, firstSeed }]) => `${checker} is violated in ${runs} runs, first by seed ${firstSeed}`);
  const toothless = mustShow(faults, tally);
  return toothless ? [...broken, `${toothless} holds in all ${tally.runs} runs: these faults show nothing`] : broken;
}

/** What these faults are there to break and have not broken, in so many runs that they should have. */
export function mustShow(faults: FaultClassName, { runs, violations }: Tally): Checker | undefined {
  const [checker] = faultClasses[faults].mayBreak;
  return checker !== undefined && runs >= enoughRuns && violations[checker].runs === 0 ? checker : undefined;
}

/** So many runs of faults that break something show that they do. */
const enoughRuns = 100;

/** A tally of nothing. */
export function emptyTally(): Tally {
  const none: FoundBy = { runs: 0, firstSeed: undefined };
  const violations = Object.fromEntries(Object.keys(checkers).map((checker) => [checker, none]));
  return {
    ...{ runs: 0, operations: 0, locks: 0, handOvers: 0, notifications: 0, turns: 0, faults: {} },
    violations: violations as Record<Checker, FoundBy>,
    lostUpdates: { "checks all": 0, "checks writes": 0, "checks nothing": 0 },
  };
}

/** Both together, in whatever order they were made. */
export function addTallies(a: Tally, b: Tally): Tally {
  const first = (one: FoundBy, other: FoundBy): FoundBy => {
    const seeds = [one.firstSeed, other.firstSeed].filter((seed) => seed !== undefined);
    return { runs: one.runs + other.runs, firstSeed: seeds.length > 0 ? Math.min(...seeds) : undefined };
  };
  const sum = (one = 0, other = 0): number => one + other;
  return {
    runs: a.runs + b.runs,
    operations: a.operations + b.operations,
    locks: a.locks + b.locks,
    handOvers: a.handOvers + b.handOvers,
    notifications: a.notifications + b.notifications,
    turns: a.turns + b.turns,
    faults: combine(a.faults, b.faults, sum),
    violations: combine(a.violations, b.violations, first) as Tally["violations"],
    lostUpdates: combine(a.lostUpdates, b.lostUpdates, sum) as Tally["lostUpdates"],
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

function tallyOf({ operations, notifications, turns, history, struck, violations }: Run, seed: number): Tally {
  const found = [...new Set(violations.map(({ checker }) => checker))];
  const none = emptyTally();
  return {
    runs: 1,
    operations,
    locks: history.locks.length,
    handOvers: history.locks.filter(({ takenOverFrom }) => takenOverFrom !== undefined).length,
    notifications,
    turns,
    faults: counted(struck.map(({ kind }) => kind)),
    violations: {
      ...none.violations,
      ...Object.fromEntries(found.map((checker) => [checker, { runs: 1, firstSeed: seed }])),
    },
    lostUpdates: { ...none.lostUpdates, ...counted(history.lostUpdates.map(({ storage }) => storage)) },
  };
}

function counted<Key extends string>(keys: readonly Key[]): Partial<Record<Key, number>> {
  const counts: Partial<Record<Key, number>> = {};
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

import { type Checker, checkers } from "./checkers.ts";
import { drawScenario } from "./draw-scenario.ts";
import type { FaultKind } from "./fault.ts";
import type { FaultClassName } from "./fault-classes.ts";
import type { StorageKind } from "./history.ts";
import { type SimulateOptions, simulate } from "./simulate.ts";

/** What many runs came to. */
export interface Tally {
  runs: number;
  operations: number;
  /** Locks that clients were given. */
  locks: number;
  /** Events of the simulated worlds: messages, timers, faults. */
  events: number;
  /** How often each kind of fault struck. */
  readonly faults: Partial<Record<FaultKind, number>>;
  /** In how many runs each checker found something, and the seed of the first of them. */
  readonly violations: Record<Checker, { runs: number; firstSeed: number | undefined }>;
  /** How many updates each kind of storage lost. */
  readonly lostUpdates: Record<StorageKind, number>;
}

/** A tally of nothing. */
export function emptyTally(): Tally {
  const none = () => ({ runs: 0, firstSeed: undefined });
  const violations = Object.fromEntries(Object.keys(checkers).map((checker) => [checker, none()]));
  const lostUpdates = { "checks all": 0, "checks writes": 0, "checks nothing": 0 };
  return {
    ...{ runs: 0, operations: 0, locks: 0, events: 0, faults: {}, lostUpdates },
    violations: violations as Tally["violations"],
  };
}

/** Adds what one seed leads to. */
export async function runSeed(
  tally: Tally,
  faults: FaultClassName,
  seed: number,
  options?: SimulateOptions,
): Promise<void> {
  const run = await simulate(drawScenario(faults, seed), options);
  tally.runs += 1;
  tally.operations += run.operations;
  tally.locks += run.history.locks.length;
  tally.events += run.events;
  for (const { kind } of run.struck) tally.faults[kind] = (tally.faults[kind] ?? 0) + 1;
  for (const { storage } of run.history.lostUpdates) tally.lostUpdates[storage] += 1;
  for (const checker of new Set(run.violations.map((violation) => violation.checker))) {
    tally.violations[checker].runs += 1;
    tally.violations[checker].firstSeed ??= seed;
  }
}

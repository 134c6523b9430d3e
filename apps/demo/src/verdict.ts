import { ledger, resources, sleeper } from "./options.ts";
import type { Run, Visit } from "./run.ts";

/** A claim about a run, whether it holds, and the evidence. */
export type Check = readonly [claim: string, holds: boolean, finding: string];

/** Checks all claims after a run. */
export function verdictOf(run: Run): readonly Check[] {
  const { visits, lostUpdates: lost, grantsWhileTwoDown: grants, finished } = run;
  const increments = resources.reduce((sum, { name }) => sum + run.increments(name), 0);
  const shown = lost === 0 ? `the counters show all ${increments} increments` : `${lost} of ${increments} were lost`;
  const together = overlaps(visits).map(
    ([one, two]) => `the first of ${one.worker} and ${two.worker} on ${one.resource}`,
  );
  const [fault] = tokenFaults(visits).map(([one, two]) => `${two.fence} came after ${one.fence} on ${one.resource}`);
  const write = run.pause?.write ?? "never tried";
  const refusal = write === "refused" ? `${run.staleWritesRefused} refused` : `the write of ${sleeper}: ${write}`;
  const [stale, ...more] = staleWritesAccepted(visits.filter(({ resource }) => resource === ledger.name));
  const missing = [...run.setup.workers, sleeper].filter((worker) => !finished.has(worker));
  const faults = [missing.length > 0 ? `not finished: ${missing.join(", ")}` : [], run.problems].flat().join("; ");
  return [
    ["no update was lost", lost === 0 && increments > 0, shown],
    [
      "no two workers held the same lock at once",
      together.length === 0,
      together[0] ? `${together.length} overlaps, ${together[0]}` : `${visits.length} visits compared`,
    ],
    ["every lock had a larger token than those before", fault === undefined, fault ?? "on each resource"],
    ["the paused worker's late write was refused", write === "refused", refusal],
    [
      "no stale write was accepted",
      stale === undefined,
      stale ? `${more.length + 1} accepted, the first of ${stale.worker}` : `by ${ledger.name}`,
    ],
    ["locks were granted while two nodes were down", grants > 0, `${grants} locks`],
    ["every worker finished cleanly", faults === "", faults || `${finished.size} workers`],
  ];
}

type Pair = readonly [earlier: Visit, later: Visit];

/**
 * Finds pairs of workers that held the lock of a resource at the same time: one entered while another was inside and its
 * lock still valid. A worker that stays past the validity, as the paused one does, no longer holds the lock.
 */
export function overlaps(visits: readonly Visit[]): readonly Pair[] {
  return byResource(visits).flatMap((onResource) => {
    let longest = onResource[0];
    return onResource.slice(1).flatMap((visit): Pair[] => {
      const before = longest as Visit;
      if (holdsUntilMs(visit) > holdsUntilMs(before)) longest = visit;
      return visit.enteredAtMs < holdsUntilMs(before) ? [[before, visit]] : [];
    });
  });
}

/** Finds pairs of consecutive locks on a resource whose tokens do not grow. */
export function tokenFaults(visits: readonly Visit[]): readonly Pair[] {
  return byResource(visits).flatMap((onResource) =>
    onResource.slice(1).flatMap((visit, index): Pair[] => {
      const before = onResource[index] as Visit;
      return visit.fence <= before.fence ? [[before, visit]] : [];
    }),
  );
}

/** Finds accepted writes that were sent after a worker with a later lock had read. */
export function staleWritesAccepted(visits: readonly Visit[]): readonly Visit[] {
  return byResource(visits).flatMap((onResource) =>
    onResource.filter(({ write, wroteAtMs }, index) => {
      const later = onResource.slice(index + 1);
      return write === "accepted" && later.some(({ readAtMs }) => readAtMs < wroteAtMs);
    }),
  );
}

function holdsUntilMs({ leftAtMs, validUntilMs }: Visit): number {
  return Math.min(leftAtMs, validUntilMs);
}

/** Groups visits by resource, in the order of their grants. */
function byResource(visits: readonly Visit[]): readonly (readonly Visit[])[] {
  return resources.map(({ name }) =>
    visits.filter(({ resource }) => resource === name).toSorted((a, b) => a.enteredAtMs - b.enteredAtMs),
  );
}

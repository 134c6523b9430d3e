import { overlapsOf, tokenFaultsOf } from "@holdfast/history/checks";
import { ledger, resources, sleeper } from "./options.ts";
import type { Run, Visit } from "./run.ts";

/** A claim about a run, whether it holds, and the evidence. */
export type Check = readonly [claim: string, holds: boolean, finding: string];

/** Checks all claims after a run. */
export function verdictOf(run: Run): readonly Check[] {
  const { visits, lostUpdates: lost, finished, twoDown } = run;
  const increments = resources.reduce((sum, { name }) => sum + run.increments(name), 0);
  const shown = lost === 0 ? `the counters show all ${increments} increments` : `${lost} of ${increments} were lost`;
  const locks = locksOf(visits);
  const together = overlapsOf(locks);
  const [overlap] = together.map(
    ({ earlier, later }) => `the first of ${earlier.worker} and ${later.worker} on ${later.resource}`,
  );
  const fault = tokenFaultsOf(locks)[0]?.later;
  const write = run.lateVisit?.write ?? "never tried";
  const refusal = write === "refused" ? `${run.staleWritesRefused} refused` : `the write of ${sleeper}: ${write}`;
  const [stale, ...more] = staleWritesAccepted(locks.filter(({ resource }) => resource === ledger.name));
  const grants = visits.filter((visit) => visit.enteredAtMs > twoDown.fromMs && visit.enteredAtMs < twoDown.untilMs);
  const missing = [...run.setup.workers, sleeper].filter((worker) => !finished.has(worker));
  const faults = [missing.length > 0 ? `not finished: ${missing.join(", ")}` : [], run.problems].flat().join("; ");
  return [
    ["no update was lost", lost === 0 && increments > 0, shown],
    [
      "no two workers held the same lock at once",
      overlap === undefined,
      overlap ? `${together.length} overlaps, ${overlap}` : `${visits.length} visits compared`,
    ],
    [
      "every lock had a larger token than those before",
      fault === undefined,
      fault ? `not that of ${fault.worker} on ${fault.resource}, ${fault.fence}` : "on each resource",
    ],
    ["the paused worker's late write was refused", write === "refused", refusal],
    [
      "no stale write was accepted",
      stale === undefined,
      stale ? `${more.length + 1} accepted, the first of ${stale.worker}` : `by ${ledger.name}`,
    ],
    ["locks were granted while two nodes were down", grants.length > 0, `${grants.length} locks`],
    ["every worker finished cleanly", faults === "", faults || `${finished.size} workers`],
  ];
}

/** The locks in the order of their grants. The paused worker no longer holds the lock after its validity. */
function locksOf(visits: readonly Visit[]) {
  return visits
    .map((visit) => ({
      ...{ ...visit, resources: [visit.resource] },
      ...{ attemptAtMs: visit.enteredAtMs, grantedAtMs: visit.enteredAtMs },
      heldUntilMs: Math.min(visit.leftAtMs, visit.validUntilMs),
    }))
    .toSorted((a, b) => a.grantedAtMs - b.grantedAtMs);
}

/** Finds accepted writes that were sent after a worker with a later lock had read. */
function staleWritesAccepted(visits: readonly Visit[]): readonly Visit[] {
  return visits.filter(({ write, wroteAtMs }, index) => {
    const later = visits.slice(index + 1);
    return write === "accepted" && later.some(({ readAtMs }) => readAtMs < wroteAtMs);
  });
}

import { ledger, resources, sleeper } from "./options.ts";
import type { Run, Visit } from "./run.ts";

/** A claim about a run, whether it holds, and the evidence. */
export type Check = readonly [claim: string, holds: boolean, finding: string];

/** Checks all claims after a run. */
export function verdictOf(run: Run): readonly Check[] {
  const { visits, lostUpdates: lost, finished, twoDown } = run;
  const increments = resources.reduce((sum, { name }) => sum + run.increments(name), 0);
  const shown = lost === 0 ? `the counters show all ${increments} increments` : `${lost} of ${increments} were lost`;
  const inOrder = resources.map(({ name }) => visitsOf(name, visits));
  const together = inOrder.flatMap(overlaps);
  const [overlap] = together.map(([one, two]) => `the first of ${one.worker} and ${two.worker} on ${one.resource}`);
  const [fault] = inOrder.flatMap(tokenFaults);
  const write = run.lateVisit?.write ?? "never tried";
  const refusal = write === "refused" ? `${run.staleWritesRefused} refused` : `the write of ${sleeper}: ${write}`;
  const [stale, ...more] = staleWritesAccepted(visitsOf(ledger.name, visits));
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
    ["every lock had a larger token than those before", fault === undefined, fault ?? "on each resource"],
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

/** The visits of a resource, in the order of their grants. */
function visitsOf(name: string, visits: readonly Visit[]): readonly Visit[] {
  return visits.filter(({ resource }) => resource === name).toSorted((a, b) => a.enteredAtMs - b.enteredAtMs);
}

/**
 * Finds pairs of workers that held a lock at the same time: one entered while another was inside and its lock still valid. A
 * worker that stays past the validity, as the paused one does, no longer holds the lock.
 */
function overlaps(visits: readonly Visit[]): (readonly [earlier: Visit, later: Visit])[] {
  let [longest] = visits;
  return visits.slice(1).flatMap((visit) => {
    const before = longest as Visit;
    if (holdsUntilMs(visit) > holdsUntilMs(before)) longest = visit;
    return visit.enteredAtMs < holdsUntilMs(before) ? [[before, visit] as const] : [];
  });
}

function tokenFaults(visits: readonly Visit[]): string[] {
  return visits.slice(1).flatMap(({ fence, resource }, index) => {
    const { fence: before } = visits[index] as Visit;
    return fence > before ? [] : [`${fence} came after ${before} on ${resource}`];
  });
}

function holdsUntilMs({ leftAtMs, validUntilMs }: Visit): number {
  return Math.min(leftAtMs, validUntilMs);
}

/** Finds accepted writes that were sent after a worker with a later lock had read. */
function staleWritesAccepted(visits: readonly Visit[]): readonly Visit[] {
  return visits.filter(({ write, wroteAtMs }, index) => {
    const later = visits.slice(index + 1);
    return write === "accepted" && later.some(({ readAtMs }) => readAtMs < wroteAtMs);
  });
}

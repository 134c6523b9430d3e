import { brokenPromises, checksOf, countOf } from "../history/checks.ts";
import type { Sets } from "../history/visit.ts";
import type { Chronicle } from "./chronicle.ts";

/** The results of a run. */
export type Findings = ReturnType<typeof judgeRun>;

/** A run and its results. */
export interface MembershipRun {
  readonly chronicle: Chronicle;
  readonly findings: Findings;
}

/**
 * Checks the record of a run.
 *
 * @param sets the elements of the sets of each resource at the end
 * @param unserved the clients that were granted no lock at the last stage
 */
export function judgeRun(chronicle: Chronicle, sets: ReadonlyMap<string, Sets>, unserved: readonly string[]) {
  const { granted, visits, probes } = chronicle;
  const byResource = [...sets].map(([name, ofResource]) =>
    checksOf(
      visits.filter(({ resource }) => resource === name),
      ofResource,
    ),
  );
  const locksByStage = new Map<string, number>();
  for (const { stage } of granted) locksByStage.set(stage, (locksByStage.get(stage) ?? 0) + 1);
  const waitsMs = granted.map(({ waitedMs }) => waitedMs).sort((a, b) => a - b);
  const findings = {
    locks: granted.length,
    /** How many locks clients of each stage were granted. */
    locksByStage,
    medianWaitMs: waitsMs[Math.floor(waitsMs.length / 2)] ?? 0,
    longestWaitMs: waitsMs.at(-1) ?? 0,
    overlaps: countOf(byResource, "overlaps"),
    tokenFaults: countOf(byResource, "tokenFaults"),
    lostPlain: countOf(byResource, "lostPlain"),
    lostFenced: countOf(byResource, "lostFenced"),
    errors: chronicle.errors,
  };
  const wrongProbes = probes.filter(({ wanted, error }) =>
    wanted === "served" ? error !== undefined : !error?.includes("does not serve clients of generation"),
  );
  const violations = [
    ...brokenPromises(byResource, true),
    ...findings.errors.map(({ client, stage, message }) => `${client} of ${stage} got an error: ${message}`),
    ...unserved.map((client) => `${client} got no lock at the last stage`),
    ...wrongProbes.map(({ what, wanted, error = "it got a lock" }) => `${what} must be ${wanted}: ${error}`),
  ];
  return { ...findings, violations };
}

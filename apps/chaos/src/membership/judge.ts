import { brokenPromises, checksOf, countOf } from "../history/checks.ts";
import type { Sets } from "../history/visit.ts";
import type { Chronicle } from "./chronicle.ts";

/** The results of a run. */
export type Findings = ReturnType<typeof judgeRun>;

/**
 * Checks the record of a run.
 *
 * @param sets the elements of the sets of each resource at the end
 * @param unserved the clients that were granted no lock at the last stage
 */
export function judgeRun(chronicle: Chronicle, sets: ReadonlyMap<string, Sets>, unserved: readonly string[]) {
  const { visits, errors, probes } = chronicle;
  const byResource = [...sets].map(([name, ofResource]) =>
    checksOf(
      visits.filter(({ resource }) => resource === name),
      ofResource,
    ),
  );
  const wrongProbes = probes.filter(({ wanted, error }) =>
    wanted === "served" ? error !== undefined : !error?.includes("does not serve clients of generation"),
  );
  return {
    overlaps: countOf(byResource, "overlaps"),
    tokenFaults: countOf(byResource, "tokenFaults"),
    lostPlain: countOf(byResource, "lostPlain"),
    lostFenced: countOf(byResource, "lostFenced"),
    violations: [
      ...brokenPromises(byResource, true),
      ...errors.map(({ client, stage, message }) => `${client} of ${stage} got an error: ${message}`),
      ...unserved.map((client) => `${client} got no lock at the last stage`),
      ...wrongProbes.map(({ what, wanted, error = "it got a lock" }) => `${what} must be ${wanted}: ${error}`),
    ],
  };
}

/** The output of a run with `--membership`. */
import { type ChaosOptions, commandOf } from "../options.ts";
import type { Moment } from "./chronicle.ts";
import type { MembershipRun } from "./judge.ts";

/** The head of the columns of {@link lineOf}. */
export const columns = "    time     locks  longest wait  errors  clients";

/** The head of the transcript, whose lines are {@link lineOf}. */
export function headOf({ clients, ttlMs, seed }: ChaosOptions): string {
  return [
    `${clients} client processes lock, ttl ${ttlMs} ms, while three redis-servers become five, and then five others.`,
    `Servers, clients and the operator of the changes are killed meanwhile; seed ${seed}.\n`,
    columns,
  ].join("\n");
}

/** A line of the transcript. */
export function lineOf({ atMs, what, locks, longestWaitMs, errors, clients }: Moment): string {
  const figures = [
    `${(atMs / 1_000).toFixed(1)} s`.padStart(8),
    String(locks).padStart(10),
    `${(longestWaitMs / 1_000).toFixed(1)} s`.padStart(14),
    String(errors).padStart(8),
  ].join("");
  return `${figures}  ${countsOf(clients).padEnd(52)}  ${what}`;
}

/** The verdict. */
export function verdictOf(options: ChaosOptions, { findings, chronicle }: MembershipRun): string {
  const { locks, locksByStage, medianWaitMs, longestWaitMs, overlaps, tokenFaults, lostPlain, lostFenced } = findings;
  const refused = chronicle.probes.filter(({ error }) => error !== undefined).length;
  return [
    `${locks} locks (${countsOf(locksByStage)}); errors: ${findings.errors.length}`,
    `half of the waits took less than ${Math.ceil(medianWaitMs)} ms, the longest one ${(longestWaitMs / 1_000).toFixed(1)} s`,
    `two clients at once: ${overlaps}; tokens out of order: ${tokenFaults}; ` +
      `updates lost: ${lostPlain} without tokens, ${lostFenced} with tokens`,
    `faults: ${faultsOf(chronicle.bands)}; clients of wrong stages that were refused: ${refused}`,
    "",
    ...(findings.violations.length === 0
      ? ["Nothing was violated."]
      : [...findings.violations.slice(0, 20).map((what) => `VIOLATED: ${what}`), `The command: ${commandOf(options)}`]),
  ].join("\n");
}

/** Counts the faults, such as `5 servers killed, 3 clients paused`. */
function faultsOf(bands: MembershipRun["chronicle"]["bands"]): string {
  const counts = new Map<string, number>();
  for (const { lane, label } of bands) {
    const what = `${lane.startsWith("n") ? "server" : "client"} ${label}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].map(([what, count]) => `${what}: ${count}`).join(", ");
}

/** Lists how many clients or locks there are of each stage. */
function countsOf(byStage: ReadonlyMap<string, number>): string {
  return [...byStage.keys()]
    .sort()
    .map((stage) => `${byStage.get(stage)} of ${stage}`)
    .join(", ");
}

/** `pnpm chaos --membership`. */
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ChaosOptions } from "../options.ts";
import { runMembership } from "./run.ts";
import { type Change, changesOf, threeToFiveToFive } from "./stages.ts";
import { headOf, lineOf, verdictOf } from "./transcript.ts";

/** What a run goes through, and how it is shown. */
export interface Show {
  readonly changes: readonly Change[];
  print(text: string): void;
}

const wholeShow: Show = { changes: changesOf(threeToFiveToFive), print: console.log };

/** Runs it, prints the transcript, and resolves with whether nothing was violated. */
export async function playMembership(
  options: ChaosOptions,
  cleanup: Cleanup,
  signal: AbortSignal,
  { changes, print }: Show = wholeShow,
): Promise<boolean> {
  print(headOf(options));
  const run = await runMembership(options, changes, (moment) => print(lineOf(moment)), cleanup, signal);
  print(`\n${verdictOf(options, run)}`);
  if (options.report !== undefined) {
    const { writeMembershipReport } = await import("./page.ts");
    print(`The report is ${await writeMembershipReport(options.report, options, run)}.`);
  }
  return run.findings.violations.length === 0;
}

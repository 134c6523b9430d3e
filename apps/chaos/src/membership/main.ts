/** `pnpm chaos --membership`. */
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ChaosOptions } from "../options.ts";
import { threeToFiveToFive } from "../world/stages.ts";
import { runMembership } from "./run.ts";
import { headOf, lineOf, verdictOf } from "./transcript.ts";

/** What a run goes through, and how it is shown. */
export interface Show {
  /** The servers before the first change, and after each. */
  readonly sets: readonly (readonly string[])[];
  print(text: string): void;
}

const wholeShow: Show = { sets: threeToFiveToFive, print: console.log };

/** Runs it, prints the transcript, and resolves with whether nothing was violated. */
export async function playMembership(
  options: ChaosOptions,
  cleanup: Cleanup,
  signal: AbortSignal,
  { sets, print }: Show = wholeShow,
): Promise<boolean> {
  print(headOf(options));
  const run = await runMembership(options, sets, (moment) => print(lineOf(moment)), cleanup, signal);
  print(`\n${verdictOf(options, run)}`);
  if (options.report !== undefined) {
    const { writeMembershipReport } = await import("./page.ts");
    print(`The report is ${await writeMembershipReport(options.report, options, run)}.`);
  }
  return run.findings.violations.length === 0;
}

import type { Checks } from "../accounts.ts";

/** When the late write of A arrives. */
export type Arrival = "after B has written" | "between B's read and B's write";

/** One combination of check and arrival, on its own account. */
export interface Case {
  readonly account: string;
  readonly checks: Checks;
  readonly arrival: Arrival;
}

export const opening = 100;
export const withdrawal = 30;
export const deposit = 50;

const allChecks: readonly Checks[] = ["nothing", "writes", "reads and writes"];
export const arrivals: readonly Arrival[] = ["after B has written", "between B's read and B's write"];

/** All combinations. */
export const cases: readonly Case[] = allChecks.flatMap((checks) =>
  arrivals.map((arrival) => ({ account: `${checks}, ${arrival}`.replaceAll(/\W+/g, "-"), checks, arrival })),
);

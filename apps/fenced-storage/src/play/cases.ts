import type { Checks } from "../accounts.ts";

/** When the late write of A arrives. */
export type Arrival = "after B has written" | "between B's read and B's write";

/** One way in which it may go, on an account of its own. */
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

/** Every check with every arrival. */
export const cases: readonly Case[] = allChecks.flatMap((checks) =>
  arrivals.map((arrival) => ({ account: `${checks}, ${arrival}`.replaceAll(/\W+/g, "-"), checks, arrival })),
);

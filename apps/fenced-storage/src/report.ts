import { arrivals, deposit, opening, withdrawal } from "./play/cases.ts";
import type { Outcome } from "./play/late-writes.ts";

const columns = [20, 32];

const right = opening + deposit - withdrawal;

/** The lines before the results. */
export const introduction: readonly string[] = [
  `An account has ${opening}. A locks it, reads it, and is paused for longer than the ttl of its lock. B gets the lock,`,
  `and adds ${deposit}. A wakes up, still trusts its lock, and takes ${withdrawal} away: ${right} is right.`,
  "",
  line("token is checked at", ...arrivals.map((arrival) => `A writes ${arrival}`)),
];

/** A line for each check. */
export function linesOf(title: string, outcomes: readonly Outcome[]): string[] {
  const lines = [title];
  for (const { checks, account } of outcomes) {
    if (outcomes.find((other) => other.checks === checks)?.account !== account) continue;
    const words = outcomes.filter((other) => other.checks === checks).map(inWords);
    lines.push(line(`  ${checks}`, ...words));
  }
  return lines;
}

/** Whether every balance with complete checks is right. */
export function isAsExpected(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(({ checks, balance }) => checks !== "reads and writes" || balance === right);
}

function inWords({ balance, isAccepted }: Outcome): string {
  if (balance === opening - withdrawal) return `${balance}: B's ${deposit} are lost`;
  if (balance === opening + deposit) return `${balance}: A's ${withdrawal} are lost`;
  return `${balance}: A was ${isAccepted ? "not refused" : "refused, retried"}`;
}

function line(...cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(columns[index] ?? 0))
    .join("  ")
    .trimEnd();
}

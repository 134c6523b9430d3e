import { arrivals, deposit, opening, withdrawal } from "./play/cases.ts";
import type { Outcome } from "./play/late-writes.ts";
import type { TransactionOutcome } from "./play/transactions.ts";

const columns = [20, 32];

/** The lines before the results. */
export const introduction: readonly string[] = [
  `An account has ${opening}. A locks it, reads it, and is paused for longer than the ttl of its lock. B gets the lock,`,
  `and adds ${deposit}. A wakes up, still trusts its lock, and takes ${withdrawal} away: ${opening + deposit - withdrawal} is right.`,
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

/** The lines about transactions that keep their lock. */
export function linesOfTransactions({ balances, isRefused, order }: TransactionOutcome): string[] {
  const first = isRefused ? "A was refused, retried" : "A was not refused";
  const second = order[0] === "A goes on" ? "B waited for A's commit" : "B did not wait";
  return [
    "PostgreSQL, with the locks in the same database, and transactions that begin with holds()",
    `  A is paused before its transaction  ${balances.before}: ${first}`,
    `  A is paused inside its transaction  ${balances.inside}: ${second}`,
  ];
}

/** Whether no transaction was lost, and both were excluded as they should. */
export function areTransactionsAsExpected({ balances, isRefused, order }: TransactionOutcome): boolean {
  return Object.values(balances).every((balance) => balance === rightBalance) && isRefused && order[0] === "A goes on";
}

/** Whether every balance with complete checks is right. */
export function isAsExpected(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(({ checks, balance }) => checks !== "reads and writes" || balance === rightBalance);
}

const rightBalance = opening + deposit - withdrawal;

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

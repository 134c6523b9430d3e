/** Outcomes in the tables of docs/generated/consumers.md. */
import { markdownTable, replaceTables } from "../lib/markdown.ts";
import { type Outcome, tables } from "./trials.ts";

/** Returns the page with the outcomes in its tables. */
export function filled(page: string, outcomes: readonly Outcome[]): string {
  return replaceTables(
    page,
    tables.map((name) => tableOf(outcomes.filter(({ table }) => table === name))),
  );
}

/** Returns the outcomes as one table, with rows and columns in the order in which they first appear. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const columns = [...new Set(outcomes.map(({ column }) => column))];
  const rows = [...new Set(outcomes.map(({ row }) => row))];
  const cell = (row: string, column: string) => {
    const outcome = outcomes.find((each) => each.row === row && each.column === column);
    if (outcome === undefined) return "–";
    return outcome.problem === undefined ? "✓" : "✗";
  };
  const lines = rows.map((row) => [row, ...columns.map((column) => cell(row, column))]);
  return markdownTable(["", ...columns], lines);
}

/** Returns which trials failed, and why. */
export function problems(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ row, column, problem }) => (problem ? [`${row}, ${column}: ${problem}`] : []));
}

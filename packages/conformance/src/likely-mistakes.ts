/**
 * The most likely mistake behind a failed test, by the test's statement: its failure message starts with it. Tests that
 * find out more about a mistake report it themselves, and are not listed here.
 */
import mistakes from "./likely-mistakes.json" with { type: "json" };

const byStatement: Readonly<Record<string, string>> = mistakes;

/** Returns the most likely mistake when the test with this statement fails, if the suite knows one. */
export function likelyMistake(statement: string): string | undefined {
  // Mistakes in extensions are the same with and without rejoin.
  return byStatement[statement] ?? byStatement[statement.replace("extend() with rejoin of", "extend() of")];
}

/** The statements with a known mistake. */
export const statementsWithMistake: readonly string[] = Object.keys(byStatement);

/** The result of one fact. */
export interface Result {
  readonly statement: string;
  readonly outcome: () => "passed" | "failed" | "not run";
  /** The likely mistake behind a failure, if one is known. */
  readonly mistake: () => string | undefined;
}

/** A likely mistake, and how many failed tests point to it. */
interface LikelyMistake {
  readonly mistake: string;
  readonly tests: number;
}

/** More than these are seldom mistakes of their own. */
const mistakesMax = 3;

/**
 * Returns the likely mistakes behind the failed tests, the most likely first. The suite goes from simple tests to complex
 * ones, and a complex test may fail for a mistake that a simple one names.
 */
function likelyMistakesOf(results: readonly Result[]): readonly LikelyMistake[] {
  const tests = new Map<string, number>();
  for (const { outcome, mistake } of results) {
    const named = outcome() === "failed" ? mistake() : undefined;
    if (named !== undefined) tests.set(named, (tests.get(named) ?? 0) + 1);
  }
  return [...tests].slice(0, mistakesMax).map(([mistake, count]) => ({ mistake, tests: count }));
}

/** Returns the likely mistakes behind the failed tests as text, or undefined if none is known. */
export function mistakesText(results: readonly Result[]): string | undefined {
  const found = likelyMistakesOf(results);
  const lines = found.map(
    ({ mistake, tests }) => `${cut(mistake)} (${tests} failed ${tests === 1 ? "test" : "tests"})`,
  );
  if (lines.length < 2) return lines[0] && `The likely mistake: ${lines[0]}`;
  const numbered = lines.map((line, index) => `${index + 1}. ${line}`);
  return ["The likely mistake is the first of these. The others may be its effects:", "", ...numbered].join("\n");
}

/** Shortens a mistake that quotes a long name. */
function cut(mistake: string): string {
  return mistake.length <= 200 ? mistake : `${mistake.slice(0, 200)}…`;
}

/**
 * Fails if a test has failed, with the likely mistakes. The runner prints a failure of the whole suite before those of
 * its tests.
 */
export function assertNoneFailed(name: string, results: readonly Result[]): void {
  const failed = results.filter(({ outcome }) => outcome() === "failed").length;
  if (failed === 0) return;
  const verdict = `${name} failed ${failed} of ${results.length} tests.`;
  const error = new Error([verdict, mistakesText(results)].filter(Boolean).join(" "));
  // The place in the suite that throws says nothing about the node.
  error.stack = `${error.name}: ${error.message}`;
  throw error;
}

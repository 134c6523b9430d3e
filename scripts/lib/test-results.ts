/** What one package's test run amounts to. Whatever is not a plain pass is a failure. */
export interface PackageResult {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly durationMs: number;
  /** What is wrong, where the counts alone do not tell. */
  readonly problem?: string;
}

/** What these scripts read in the JSON report of vitest. */
export interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/** How the test runner of one package ended. */
export interface TestRun {
  readonly name: string;
  readonly exitCode: number | undefined;
  readonly durationMs: number;
  readonly report: TestReport | undefined;
}

/**
 * Judges one package by its report, and by the exit code too: a runner that crashed, or saw an error outside of any
 * test, leaves a report in which all is well, or none.
 */
export function packageResult({ name, exitCode, durationMs, report }: TestRun): PackageResult {
  if (!report) return { name, passed: 0, failed: 1, skipped: 0, durationMs, problem: "left no report" };

  const passed = report.numPassedTests;
  const skipped = report.numPendingTests + report.numTodoTests;
  const failed = report.numFailedTests + brokenFiles(report);
  const counts = { name, passed, failed, skipped, durationMs };
  if (passed + failed + skipped === 0) return { ...counts, failed: 1, problem: "has no tests" };
  if (failed === 0 && exitCode !== 0) return { ...counts, failed: 1, problem: "failed outside of its tests" };
  return skipped > 0 ? { ...counts, problem: "skips tests, which counts as failing" } : counts;
}

/** Test files that failed without a failed test, for example because an import is missing. */
function brokenFiles(report: TestReport): number {
  return report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  ).length;
}

/** Adds up all packages. A skipped test counts as a failed one, because it proves nothing. */
export function total(results: readonly PackageResult[]): { passed: number; failed: number } {
  let passed = 0;
  let failed = 0;
  for (const result of results) {
    passed += result.passed;
    failed += result.failed + result.skipped;
  }
  return { passed, failed };
}

/** The results as lines of text, one per package. */
export function table(results: readonly PackageResult[]): string {
  const nameWidth = Math.max(...results.map(({ name }) => name.length));
  const line = (name: string, numbers: string[], problem = "") =>
    `${name.padEnd(nameWidth)}${numbers.map((number) => number.padStart(9)).join("")}  ${problem}`.trimEnd();

  const header = line("package", ["passed", "failed", "skipped", "seconds"]);
  const rows = results.map(({ name, passed, failed, skipped, durationMs, problem }) =>
    line(name, [`${passed}`, `${failed}`, `${skipped}`, (durationMs / 1_000).toFixed(1)], problem),
  );
  return [header, ...rows].join("\n");
}

import { describe, expect, it } from "vitest";
import { packageResult, type TestReport, table, total } from "../lib/test-results.ts";

const passing: TestReport = {
  numPassedTests: 2,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [{ status: "passed", assertionResults: [{ status: "passed" }, { status: "passed" }] }],
};
const name = "@holdfast/core";

function result(report: TestReport | undefined, exitCode: number | undefined) {
  return packageResult({ name, exitCode, durationMs: 1_500, report });
}

describe("packageResult()", () => {
  it("takes a clean report of a clean run as it is", () => {
    expect(result(passing, 0)).toEqual({ name, passed: 2, failed: 0, skipped: 0, durationMs: 1_500 });
  });

  it("counts failed tests once, although their file failed too", () => {
    const file = { status: "failed", assertionResults: [{ status: "failed" }, { status: "passed" }] };
    const report = { ...passing, numPassedTests: 1, numFailedTests: 1, testResults: [file] };
    expect(result(report, 1)).toMatchObject({ passed: 1, failed: 1 });
  });

  it("counts a file that could not be loaded as a failure", () => {
    const report = { ...passing, testResults: [...passing.testResults, { status: "failed", assertionResults: [] }] };
    expect(result(report, 1)).toMatchObject({ passed: 2, failed: 1 });
  });

  it("fails a runner that left no report", () => {
    expect(result(undefined, 1)).toMatchObject({ passed: 0, failed: 1, problem: "left no report" });
    expect(result(undefined, undefined)).toMatchObject({ failed: 1 });
  });

  it("fails a package without tests", () => {
    expect(result({ ...passing, numPassedTests: 0, testResults: [] }, 0)).toMatchObject({
      failed: 1,
      problem: "has no tests",
    });
  });

  it("fails a run that went wrong although every test passed", () => {
    expect(result(passing, 1)).toMatchObject({ passed: 2, failed: 1, problem: "failed outside of its tests" });
  });
});

describe("total()", () => {
  it("counts skipped and unwritten tests as failed", () => {
    const skipping = result({ ...passing, numPendingTests: 1, numTodoTests: 1 }, 0);
    expect(skipping).toMatchObject({ passed: 2, failed: 0, skipped: 2 });
    expect(total([result(passing, 0), skipping])).toEqual({ passed: 4, failed: 2 });
  });
});

describe("table()", () => {
  it("prints a line per package, with what is wrong at its end", () => {
    expect(table([result(passing, 0), result(undefined, 1)])).toBe(
      [
        "package          passed   failed  skipped  seconds",
        "@holdfast/core        2        0        0      1.5",
        "@holdfast/core        0        1        0      1.5  left no report",
      ].join("\n"),
    );
  });
});

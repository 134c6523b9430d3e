import { describe, expect, it } from "vitest";
import { type ConformanceReport, compatibilityTable, failures, totals } from "../matrix/table.ts";

function report(results: Record<string, readonly string[]>, file = "conformance.test.ts"): ConformanceReport {
  const assertionResults = Object.entries(results).flatMap(([client, statuses]) =>
    statuses.map((status) => ({
      ancestorTitles: [client, "acquire"],
      title: `is ${status}`,
      status,
      failureMessages: status === "failed" ? ["AssertionError: no\n    at somewhere"] : [],
    })),
  );
  return { testResults: [{ name: `/packages/mysql/test/${file}`, assertionResults }] };
}

const reports = [
  { server: "Redis 1.0", report: report({ b: ["passed", "passed"], a: ["passed", "failed", "skipped"] }) },
  { server: "Redis 2.0", report: report({ b: ["passed"] }) },
];

describe("compatibilityTable()", () => {
  it("has a row for each client and a column for each server, and counts skipped tests as failed", () => {
    expect(compatibilityTable(reports)).toBe(
      [
        "| client | Redis 1.0 | Redis 2.0 |",
        "| --- | --- | --- |",
        "| a | 1 passed, **2 failed** | **did not start** |",
        "| b | 2 passed | 1 passed |",
        "",
      ].join("\n"),
    );
  });
});

describe("compatibilityTable()", () => {
  it("counts the other tests of a database together", () => {
    const { testResults } = report({ b: ["passed"], c: ["failed"] }, "guard.test.ts");
    const both = { testResults: [...report({ a: ["passed"] }).testResults, ...testResults] };
    expect(compatibilityTable([{ server: "MariaDB", report: both }])).toContain(
      "| all other tests | 1 passed, **1 failed** |",
    );
    const broken = { testResults: [...both.testResults, ...report({}, "holds.test.ts").testResults] };
    expect(totals([{ server: "MariaDB", report: broken }])).toEqual({ passed: 2, failed: 2 });
  });
});

describe("totals()", () => {
  it("counts a client that is missing on one server as a failure", () => {
    expect(totals(reports)).toEqual({ passed: 4, failed: 3 });
  });
});

describe("failures()", () => {
  it("names the client, the test and the reason", () => {
    expect(reports.flatMap((each) => failures(each.report))).toEqual([
      "a: is failed: AssertionError: no",
      "a: is skipped: not run",
    ]);
  });
});

import { markdownTable } from "../lib/markdown.ts";

/** The fields of vitest's JSON report that the table needs. */
export interface ConformanceReport {
  readonly testResults: readonly {
    /** The path of the file. */
    readonly name: string;
    /** None if the file failed as a whole. */
    readonly assertionResults: readonly TestReport[];
  }[];
}

interface TestReport {
  /** The first is the client and how it is connected, as the adapter's test file names them. */
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

/** The results of the conformance suite for all clients on one server. */
export interface ServerReport {
  /** Name and version. */
  readonly server: string;
  readonly report: ConformanceReport;
}

/** How many tests passed and failed: one that does not run has failed. */
interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** Returns the results as a Markdown table: a row for each client, a column for each server. */
export function compatibilityTable(reports: readonly ServerReport[]): string {
  const rows = clientsIn(reports).map((client) => [
    client,
    ...reports.map(({ report }) => cell(countsOf(client, report))),
  ]);
  return markdownTable(["client", ...reports.map(({ server }) => server)], rows);
}

/** Returns the sum over all clients and servers. A client that is missing on one server counts as a failure there. */
export function totals(reports: readonly ServerReport[]): Counts {
  const counts = clientsIn(reports).flatMap((client) => reports.map(({ report }) => countsOf(client, report)));
  return {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failed: counts.reduce((sum, { passed, failed }) => sum + (passed + failed > 0 ? failed : 1), 0),
  };
}

/** Returns each failed test with its reason, one per line. */
export function failures(report: ConformanceReport): string[] {
  return testsIn(report)
    .filter(({ status }) => status !== "passed")
    .map(({ client, title, failureMessages }) => {
      const [reason] = (failureMessages[0] ?? "not run").split("\n");
      return `${client}: ${title}: ${reason}`;
    });
}

function clientsIn(reports: readonly ServerReport[]): string[] {
  const tests = reports.flatMap(({ report }) => testsIn(report));
  return [...new Set(tests.map(({ client }) => client))].sort();
}

function countsOf(client: string, report: ConformanceReport): Counts {
  const own = testsIn(report).filter((test) => test.client === client);
  const passed = own.filter(({ status }) => status === "passed").length;
  return { passed, failed: own.length - passed };
}

/** Returns the tests with their clients. Those of a database that are not of the suite make one row. */
function testsIn({ testResults }: ConformanceReport): (TestReport & { readonly client: string })[] {
  return testResults.flatMap(({ name, assertionResults }) => {
    const isOther = /mysql\/test\/(?!conformance)/.test(name);
    const notRun = { ancestorTitles: [], title: `the file ${name}`, status: "failed", failureMessages: [] };
    return (assertionResults.length === 0 ? [notRun] : assertionResults).map((test) => ({
      ...test,
      client: isOther ? "all other tests" : (test.ancestorTitles[0] ?? ""),
    }));
  });
}

function cell({ passed, failed }: Counts): string {
  if (passed + failed === 0) return "**did not start**";
  return failed > 0 ? `${passed} passed, **${failed} failed**` : `${passed} passed`;
}

/** The fields of vitest's JSON report that the table needs. */
export interface ConformanceReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      /** The first is the client and how it is connected, as the adapter's test file names them. */
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** The results of the conformance suite for all clients on one server. */
export interface ServerReport {
  /** Name and version. */
  readonly server: string;
  readonly report: ConformanceReport;
}

/** How many tests passed and failed. */
interface Counts {
  passed: number;
  failed: number;
}

/** Returns the results as a Markdown table: a row for each client, a column for each server. */
export function compatibilityTable(reports: readonly ServerReport[]): string {
  const columns = reports.map(({ report }) => countsByClient(report));
  const clients = [...new Set(columns.flatMap((column) => [...column.keys()]))].sort();
  const rows = clients.map((client) => [client, ...columns.map((column) => cell(column.get(client)))]);
  const header = ["client", ...reports.map(({ server }) => server)];
  return [header, header.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |\n`).join("");
}

/** Returns the sum over all clients and servers. A client that is missing on one server counts as a failure there. */
export function totals(reports: readonly ServerReport[]): { passed: number; failed: number } {
  const columns = reports.map(({ report }) => countsByClient(report));
  const clients = new Set(columns.flatMap((column) => [...column.keys()]));
  let passed = 0;
  let failed = 0;
  for (const column of columns) {
    for (const client of clients) {
      const counts = column.get(client);
      passed += counts?.passed ?? 0;
      failed += counts?.failed ?? 1;
    }
  }
  return { passed, failed };
}

/** Returns each failed test with its reason, one per line. */
export function failures({ testResults }: ConformanceReport): string[] {
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status !== "passed")
    .map(({ ancestorTitles, title, failureMessages }) => {
      const [reason] = (failureMessages[0] ?? "not run").split("\n");
      return `${ancestorTitles[0]}: ${title}: ${reason}`;
    });
}

function countsByClient({ testResults }: ConformanceReport): Map<string, Counts> {
  const byClient = new Map<string, Counts>();
  for (const { ancestorTitles, status } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
    const client = ancestorTitles[0] ?? "";
    const counts = byClient.get(client) ?? { passed: 0, failed: 0 };
    if (status === "passed") counts.passed += 1;
    else counts.failed += 1;
    byClient.set(client, counts);
  }
  return byClient;
}

function cell(counts: Counts | undefined): string {
  if (counts === undefined) return "**did not start**";
  const { passed, failed } = counts;
  return failed > 0 ? `${passed} passed, **${failed} failed**` : `${passed} passed`;
}

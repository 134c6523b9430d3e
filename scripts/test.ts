/** `pnpm test`: runs the tests of all packages, and adds up what their own reports say. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ensurePostgres, ensureRedisServer } from "./lib/programs.ts";
import { packageResult, table, total } from "./lib/test-results.ts";
import { turboRun } from "./lib/turbo.ts";
import { workspacePackages } from "./lib/workspace.ts";

const verbose = process.argv.includes("--verbose");
const turboArgs = process.argv.slice(2).filter((arg) => arg !== "--verbose");

for (const ensure of [ensureRedisServer, ensurePostgres]) {
  await ensure().catch((error: Error) => giveUp(error.message));
}

const reports = new Map<string, string>();
for (const { directory, manifest } of await workspacePackages()) {
  const report = join(directory, "reports/tests.json");
  reports.set(manifest.name, report);
  await rm(report, { force: true });
}

const summary = await turboRun([
  "test",
  "--continue", // after a failure, with the other packages
  "--concurrency=2", // tests wait for servers, timeouts and processes most of the time
  "--env-mode=loose",
  "--log-order=grouped",
  "--log-prefix=none",
  `--output-logs=${verbose ? "full" : "errors-only"}`,
  ...turboArgs,
]);
if (!summary || summary.packages.length === 0) giveUp("no package was tested");

const results = await Promise.all(
  summary.packages.map(async (name) => {
    const execution = summary.tasks.find((task) => task.package === name)?.execution;
    const durationMs = execution ? execution.endTime - execution.startTime : 0;
    return packageResult({ name, exitCode: execution?.exitCode, durationMs, report: await readReport(name) });
  }),
);
const { passed, failed } = total(results);
console.log(`\n${table(results)}\n\n${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

function giveUp(message: string): never {
  console.error(message);
  process.exit(1);
}

async function readReport(name: string) {
  try {
    return JSON.parse(await readFile(reports.get(name) ?? "", "utf8"));
  } catch {
    return undefined; // the runner crashed before it could write one
  }
}

import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { exec } from "tinyexec";
import { root } from "../lib/workspace.ts";
import { type Mutant, mutants } from "./mutants.ts";

const reportPath = resolve(root, "scripts/reports/mutant.json");
const timeoutMs = 60_000;

/**
 * Runs core's tests with a mutant of core. Resolves with the names of the tests that fail, or with what else went
 * wrong. If `file` is given, runs that test file only, up to its first failure.
 */
export async function testMutant(mutant: Mutant, file?: string): Promise<string[]> {
  await rm(reportPath, { force: true });
  const config = resolve(root, "scripts/mutants/vitest.config.ts");
  const env = { HOLDFAST_MUTANT: String(mutants.indexOf(mutant)) };
  const filter = file === undefined ? [] : [`/${file}.test.ts`, "--bail=1"];
  const run = exec("vitest", ["run", "--config", config, ...filter], {
    timeout: timeoutMs,
    nodeOptions: { cwd: root, env, stdio: ["ignore", "pipe", "pipe"], killSignal: "SIGKILL" },
  });
  const output = await Promise.resolve(run).catch(() => undefined); // killed at the timeout
  if (output === undefined) return [`the tests did not end within ${timeoutMs / 1000} s`];
  if (!existsSync(reportPath)) {
    if (output.stdout.includes("No test files found")) throw new Error(`there is no ${file}.test.ts`);
    return ["the test run crashed"];
  }
  const report: { testResults: { message: string; assertionResults: { title: string; status: string }[] }[] } =
    JSON.parse(await readFile(reportPath, "utf8"));
  const broken = report.testResults.find(({ assertionResults, message }) => assertionResults.length === 0 && message);
  if (broken) throw new Error(`${mutant.fault}: ${broken.message}\n${output.stdout}${output.stderr}`);
  const titles = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ title }) => title),
  );
  if (titles.length === 0 && run.exitCode !== 0) return ["an error outside of any test"];
  return titles;
}

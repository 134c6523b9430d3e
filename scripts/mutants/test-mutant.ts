import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { exec } from "tinyexec";
import { root } from "../lib/workspace.ts";
import type { FaultyText } from "./mutants.ts";

/** Which tests of core to run with a mutant, and for how long. */
export interface TestMutantOptions {
  /** Runs this test file only, up to its first failure. Default: all tests. */
  readonly file?: string | undefined;
  /** How long the tests may take, in milliseconds. Default: a minute. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Runs core's tests with a mutant of core. Resolves with the names of the tests that fail, or with what else went wrong.
 */
export async function testMutant(mutant: FaultyText, options: TestMutantOptions = {}): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-mutant-"));
  try {
    return await failuresOf(mutant, join(folder, "report.json"), options);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function failuresOf(
  mutant: FaultyText,
  reportPath: string,
  { file, timeoutMs = 60_000 }: TestMutantOptions,
): Promise<string[]> {
  const config = resolve(root, "scripts/mutants/vitest.config.ts");
  const env = { HOLDFAST_MUTANT: JSON.stringify(mutant) };
  const report = ["--reporter", "json", `--outputFile.json=${reportPath}`];
  const filter = file === undefined ? [] : [`/${file}.test.ts`, "--bail=1"];
  const run = exec("vitest", ["run", "--config", config, ...report, ...filter], {
    timeout: timeoutMs,
    nodeOptions: { cwd: root, env, stdio: ["ignore", "pipe", "pipe"], killSignal: "SIGKILL" },
  });
  const output = await Promise.resolve(run).catch(() => undefined); // killed at the timeout
  if (output === undefined) return [`the tests did not end within ${Math.round(timeoutMs / 1000)} s`];
  if (!existsSync(reportPath)) {
    if (output.stdout.includes("No test files found")) throw new Error(`there is no ${file}.test.ts`);
    return ["the test run crashed"];
  }
  const { testResults }: { testResults: { message: string; assertionResults: { title: string; status: string }[] }[] } =
    JSON.parse(await readFile(reportPath, "utf8"));
  const broken = testResults.find(({ assertionResults, message }) => assertionResults.length === 0 && message);
  if (broken) throw new Error(`${mutant.file} with ${mutant.to}: ${broken.message}\n${output.stdout}${output.stderr}`);
  const titles = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ title }) => title),
  );
  if (titles.length === 0 && run.exitCode !== 0) return ["an error outside of any test"];
  return titles;
}

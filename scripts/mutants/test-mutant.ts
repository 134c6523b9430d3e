import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { exec } from "tinyexec";
import { root } from "../lib/workspace.ts";
import { type Mutant, mutants } from "./mutants.ts";

const reportPath = resolve(root, "scripts/reports/mutant.json");
const longestRunMs = 60_000;

/** Runs core's tests with a mutant of it: the names of those that fail, or what else went wrong. */
export async function testMutant(mutant: Mutant, isOneEnough: boolean): Promise<string[]> {
  await rm(reportPath, { force: true });
  const config = resolve(root, "scripts/mutants/vitest.config.ts");
  const env = { HOLDFAST_MUTANT: String(mutants.indexOf(mutant)) };
  const run = exec("vitest", ["run", "--config", config, ...(isOneEnough ? ["--bail=1"] : [])], {
    timeout: longestRunMs,
    nodeOptions: { cwd: root, env, stdio: ["ignore", "pipe", "pipe"], killSignal: "SIGKILL" },
  });
  const output = await Promise.resolve(run).catch(() => undefined); // killed when its time was up
  if (output === undefined || !existsSync(reportPath)) return [`the tests did not end within ${longestRunMs / 1000} s`];
  const report: { testResults: { message: string; assertionResults: { title: string; status: string }[] }[] } =
    JSON.parse(await readFile(reportPath, "utf8"));
  const broken = report.testResults.find(({ assertionResults, message }) => assertionResults.length === 0 && message);
  if (broken) throw new Error(`${mutant.fault}: ${broken.message}\n${output.stdout}${output.stderr}`);
  const titles = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ title }) => title),
  );
  if (titles.length === 0 && run.exitCode !== 0) return ["an error outside the tests"];
  return titles;
}

/**
 * `pnpm mutants`: breaks each safety rule of core on purpose, one fault at a time, and shows which tests fail. A fault
 * that no test notices is a failure of this command.
 *
 * `--quick` takes the first fault of each rule, and is content with the first test that fails; other words select the
 * rules of that name.
 */
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { exec } from "tinyexec";
import { root } from "./lib/workspace.ts";
import { type Mutant, mutants } from "./mutants/mutants.ts";

const reportPath = resolve(root, "scripts/reports/mutant.json");
const longestRunMs = 60_000;

const words = process.argv.slice(2);
const isQuick = words.includes("--quick");
const rules = words.filter((word) => !word.startsWith("--"));
const selected = mutants.filter(
  ({ rule }, index) =>
    (rules.length === 0 || rules.includes(rule)) &&
    (!isQuick || mutants.findIndex((other) => other.rule === rule) === index),
);

console.log("| rule | broken by | tests that fail | the first of them |\n| --- | --- | --- | --- |");
let survived = 0;
for (const mutant of selected) {
  const failures = await failuresUnder(mutant);
  if (failures.length === 0) survived++;
  const first = failures[0] ?? "**none**";
  console.log(`| ${mutant.rule} | ${mutant.fault} | ${failures.length} | ${first} |`);
}
const missing = selected.length === 0 ? 1 : 0;
console.log(`\n${selected.length - survived} passed, ${survived + missing} failed`);
if (survived + missing > 0) process.exitCode = 1;

/** The names of the tests that fail, or what else went wrong. */
async function failuresUnder(mutant: Mutant): Promise<string[]> {
  await rm(reportPath, { force: true });
  const config = resolve(root, "scripts/mutants/vitest.config.ts");
  const env = { HOLDFAST_MUTANT: String(mutants.indexOf(mutant)) };
  const run = exec("vitest", ["run", "--config", config, ...(isQuick ? ["--bail=1"] : [])], {
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

/**
 * `pnpm mutants`: injects one fault at a time into core or membership, and shows test files that fail. Fails if none
 * notices a fault.
 *
 * `--by-simulation` shows instead what the simulation finds, and with which seed, for each fault that it must find.
 * `--quick` checks one fault of each rule, with the test file that it names. `--out FOLDER` runs all files for each
 * fault, and writes there which of them catch it. Other words select rules by name.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pageOfCatches } from "./mutants/catches.ts";
import { openCoreTests } from "./mutants/core-tests.ts";
import { lostTexts, type Mutant, mutants } from "./mutants/mutants.ts";
import { simulateMutant } from "./mutants/simulate-mutant.ts";

const { values, positionals: rules } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean" }, "by-simulation": { type: "boolean" }, out: { type: "string" } },
});
const { quick, out, "by-simulation": bySimulation } = values;
const selected = mutants
  .filter(({ rule }) => rules.length === 0 || rules.includes(rule))
  .filter(({ isSimulated }) => !bySimulation || isSimulated)
  .filter(({ noticedBy }) => !quick || noticedBy);

const lost = await lostTexts(mutants);
if (lost.length > 0) throw new Error(lost.join("\n"));

const survived = await (bySimulation ? simulateAll() : testAll());
const missing = selected.length === 0 ? 1 : 0;
console.log(`\n${selected.length - survived} passed, ${survived + missing} failed`);
if (survived + missing > 0) process.exitCode = 1;

/** Prints what the tests notice. Returns how many faults nothing notices. */
async function testAll(): Promise<number> {
  const tests = await openCoreTests();
  const catches = new Map<Mutant, readonly string[]>();
  try {
    if (!quick) await tests.measure();
    printHeading("caught by", "the first failure");
    for (const mutant of selected) {
      const file = quick ? mutant.noticedBy : undefined;
      const failures = await tests.run(mutant, { file, untilOneFails: out === undefined });
      const files = [...failures.keys()];
      catches.set(mutant, files);
      printRow(mutant, files[0] && `${files.length}: ${files.join(", ")} | ${failures.get(files[0])}`);
    }
    if (out !== undefined) await writeFile(join(out, "catches.md"), pageOfCatches(catches, tests.files));
  } finally {
    await tests.close();
  }
  return [...catches.values()].filter((files) => files.length === 0).length;
}

/** Prints what the simulation finds. Returns how many faults it does not find. */
async function simulateAll(): Promise<number> {
  printHeading("seed", "checker", "finding");
  let survived = 0;
  for (const mutant of selected) {
    const finding = await simulateMutant(mutant);
    printRow(mutant, finding && `${finding.seed} | ${finding.checker} | ${finding.what}`);
    if (!finding) survived++;
  }
  return survived;
}

function printHeading(...columns: readonly string[]): void {
  console.log(`| rule | fault | ${columns.join(" | ")} |\n| --- | --- |${" --- |".repeat(columns.length)}`);
}

function printRow({ rule, fault }: Mutant, evidence = "**nothing**"): void {
  console.log(`| ${rule} | ${fault} | ${evidence} |`);
}

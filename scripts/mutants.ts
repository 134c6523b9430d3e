/**
 * `pnpm mutants`: injects one fault at a time into core and shows which tests fail. Fails if no test notices a fault.
 *
 * `--by-simulation` shows instead what the simulation finds, and with which seed, for each fault that it must find.
 * `--quick` checks the first fault of each rule, with the test file that notices it. Other words select rules by name.
 */
import { firstNoticedBy, type Mutant, mutants } from "./mutants/mutants.ts";
import { simulateMutant } from "./mutants/simulate-mutant.ts";
import { testMutant } from "./mutants/test-mutant.ts";

const words = process.argv.slice(2);
const isQuick = words.includes("--quick");
const isSimulated = words.includes("--by-simulation");
const rules = words.filter((word) => !word.startsWith("--"));
const selected = mutants
  .filter(({ rule }) => rules.length === 0 || rules.includes(rule))
  .filter((mutant) => !isSimulated || mutant.isSimulated)
  .filter(({ rule }, index, those) => !isQuick || those.findIndex((other) => other.rule === rule) === index);

const [columns, dashes] = isSimulated
  ? ["seed | checker | finding", "--- | --- | ---"]
  : ["failed tests | the first of them", "--- | ---"];
console.log(`| rule | fault | ${columns} |\n| --- | --- | ${dashes} |`);
let survived = 0;
for (const mutant of selected) {
  const evidence = isSimulated ? await evidenceOfSimulation(mutant) : await evidenceOfTests(mutant);
  if (evidence === undefined) survived++;
  console.log(`| ${mutant.rule} | ${mutant.fault} | ${evidence ?? "**nothing**"} |`);
}
const missing = selected.length === 0 ? 1 : 0;
console.log(`\n${selected.length - survived} passed, ${survived + missing} failed`);
if (survived + missing > 0) process.exitCode = 1;

async function evidenceOfTests(mutant: Mutant): Promise<string | undefined> {
  const file = isQuick ? firstNoticedBy[mutant.rule] : undefined;
  if (isQuick && file === undefined) throw new Error(`mutants.ts names no test file for the rule ${mutant.rule}`);
  const [first, ...others] = await testMutant(mutant, file);
  return first && `${1 + others.length} | ${first}`;
}

async function evidenceOfSimulation(mutant: Mutant): Promise<string | undefined> {
  const finding = await simulateMutant(mutant);
  return finding && `${finding.seed} | ${finding.checker} | ${finding.what}`;
}

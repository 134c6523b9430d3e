/**
 * `pnpm mutants`: breaks each safety rule of core on purpose, one fault at a time, and shows which tests fail. A fault
 * that no test notices is a failure of this command.
 *
 * With `--by-simulation` it shows what the simulation finds instead, and with which seed, of those faults that it must
 * find. `--quick` takes the first fault of each rule, and is content with the first test that fails; other
 * words select the rules of that name.
 */
import { type Mutant, mutants } from "./mutants/mutants.ts";
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
  ? ["seed | checker | what it finds", "--- | --- | ---"]
  : ["tests that fail | the first of them", "--- | ---"];
console.log(`| rule | broken by | ${columns} |\n| --- | --- | ${dashes} |`);
let survived = 0;
for (const mutant of selected) {
  const notice = isSimulated ? await noticeOfSimulation(mutant) : await noticeOfTests(mutant);
  if (notice === undefined) survived++;
  console.log(`| ${mutant.rule} | ${mutant.fault} | ${notice ?? "**nothing**"} |`);
}
const missing = selected.length === 0 ? 1 : 0;
console.log(`\n${selected.length - survived} passed, ${survived + missing} failed`);
if (survived + missing > 0) process.exitCode = 1;

async function noticeOfTests(mutant: Mutant): Promise<string | undefined> {
  const [first, ...others] = await testMutant(mutant, isQuick);
  return first && `${1 + others.length} | ${first}`;
}

async function noticeOfSimulation(mutant: Mutant): Promise<string | undefined> {
  const finding = await simulateMutant(mutant);
  return finding && `${finding.seed} | ${finding.checker} | ${finding.what}`;
}

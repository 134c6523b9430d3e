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

/** How many times as long as with core as it is the tests may take with a mutant: it may make them hang. */
const patience = 5;
const timeoutMs = isQuick || isSimulated ? undefined : patience * (await timeWithoutFault());

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
  const [first, ...others] = await testMutant(mutant, { file, timeoutMs });
  return first && `${1 + others.length} | ${first}`;
}

/** Returns how long all tests take with core as it is, in milliseconds. They must pass. */
async function timeWithoutFault(): Promise<number> {
  const { file, from } = mutants[0] as Mutant;
  const startMs = performance.now();
  const failures = await testMutant({ file, from, to: from }, { timeoutMs: 600_000 });
  if (failures.length > 0) {
    const count = failures.length;
    throw new Error(`${count} tests fail without a fault, as on a busy machine, first: ${failures[0]}`);
  }
  return Math.ceil(performance.now() - startMs);
}

async function evidenceOfSimulation(mutant: Mutant): Promise<string | undefined> {
  const finding = await simulateMutant(mutant);
  return finding && `${finding.seed} | ${finding.checker} | ${finding.what}`;
}

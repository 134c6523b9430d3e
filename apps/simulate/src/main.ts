/** `pnpm simulate`: see README.md. */
import { runProgram } from "@holdfast/app-kit/program";
import { type FaultClassName, faultClasses, type Tally, unexpectedViolations } from "@holdfast/simulation";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { type Assignment, callCrew } from "./crew.ts";
import { brokenBy, keepSeeds } from "./kept-seeds.ts";
import { parseCommand, type Task } from "./options.ts";
import { progressLine, reportOf } from "./report.ts";
import { showSeed } from "./show-seed.ts";

const { stdout } = process;
const clearLine = "\r\u001b[2K";
const print = (text: string): void => void stdout.write(`${text}\n`);

await runProgram("simulate", parseCommand(process.argv.slice(2)), async (task, cleanup) => {
  if (task.kind === "many") return simulateMany(task, cleanup);
  return simulateOne(task.faults, task.seed);
});

async function simulateOne(faults: FaultClassName, seed: number): Promise<boolean> {
  const { text, broken } = await showSeed(faults, seed);
  print(text);
  return broken.every((checker) => faultClasses[faults].mayBreak.includes(checker));
}

async function simulateMany(task: Task & { kind: "many" }, cleanup: Cleanup): Promise<boolean> {
  const { runs, from, operations, keeps } = task;
  const simulate = await callCrew(cleanup);
  let isClean = true;
  for (const [index, [name, count]] of Object.entries(runs).entries()) {
    const faults = name as FaultClassName;
    const assignment: Assignment = { faults, from, runs: count, operations: index === 0 ? operations : 0 };
    const tally = await simulate(assignment, (sofar) => {
      if (stdout.isTTY) stdout.write(clearLine + progressLine(faults, sofar));
    });
    if (stdout.isTTY) stdout.write(clearLine);
    print(reportOf(faults, tally));
    if (unexpectedViolations(faults, tally).length > 0) isClean = false;
    if (keeps) await keepSeeds(faults, tally);
    await showFirstFailure(faults, tally);
  }
  print(`Seeds from ${from}. For more: --long, --fresh, --operations N (see --help).`);
  print(isClean ? "Every promise was kept." : "A promise was violated.");
  return isClean;
}

/** Prints the story of the first violation. */
async function showFirstFailure(faults: FaultClassName, tally: Tally): Promise<void> {
  const [first] = brokenBy(faults, tally);
  if (first === undefined) return;
  const { text } = await showSeed(faults, first.seed);
  print(`${text}\n\nTo replay: pnpm simulate --faults ${faults} --seed ${first.seed}\n`);
}

/** `pnpm simulate`: see README.md. */
import { type FaultClassName, faultClasses, type Tally, unexpectedViolations } from "@holdfast/simulation";
import { type Assignment, callCrew } from "./crew.ts";
import { brokenBy, keepSeeds } from "./kept-seeds.ts";
import { help, parseCommand, type Task } from "./options.ts";
import { progressLine, reportOf, waysToReplay } from "./report.ts";
import { showCritique } from "./show-critique.ts";
import { showSeed } from "./show-seed.ts";

const exitCodes = { clean: 0, violated: 1, cannotRun: 2 };
const { stdout, stderr } = process;
const clearLine = "\r\u001b[2K";
const print = (text: string): void => void stdout.write(`${text}\n`);

process.exitCode = await main();

async function main(): Promise<number> {
  const command = parseCommand(process.argv.slice(2));
  if (command.kind === "help") {
    stdout.write(help);
    return exitCodes.clean;
  }
  if (command.kind === "bad") {
    stderr.write(`simulate: ${command.message}\nTry --help.\n`);
    return exitCodes.cannotRun;
  }
  try {
    return (await perform(command.task)) ? exitCodes.clean : exitCodes.violated;
  } catch (error) {
    stderr.write(`simulate: ${(error as Error).message}\n`);
    return exitCodes.cannotRun;
  }
}

async function perform(task: Task): Promise<boolean> {
  if (task.kind === "many") return simulateMany(task);
  if (task.kind === "one") return simulateOne(task.faults, task.seed);
  print(await showCritique());
  return true;
}

async function simulateOne(faults: FaultClassName, seed: number): Promise<boolean> {
  const { text, broken } = await showSeed(faults, seed);
  print(text);
  return broken.every((checker) => faultClasses[faults].mayBreak.includes(checker));
}

async function simulateMany({ runs, from, operations, keeps }: Task & { kind: "many" }): Promise<boolean> {
  const crew = await callCrew();
  let isClean = true;
  try {
    for (const [index, [name, count]] of Object.entries(runs).entries()) {
      const faults = name as FaultClassName;
      const assignment: Assignment = { faults, from, runs: count, operations: index === 0 ? operations : 0 };
      const tally = await crew.simulate(assignment, (sofar) => {
        if (stdout.isTTY) stdout.write(clearLine + progressLine(faults, sofar));
      });
      if (stdout.isTTY) stdout.write(clearLine);
      print(reportOf(faults, tally));
      if (unexpectedViolations(faults, tally).length > 0) isClean = false;
      if (keeps) await keepSeeds(faults, tally);
      await showFirstFailure(faults, tally);
    }
  } finally {
    await crew.dismiss();
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
  print(`${text}\n\nTo replay: ${waysToReplay(faults, first.seed)}\n`);
}

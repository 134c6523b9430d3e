/** The benchmark as a program: options in, a report and an exit code out. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { type Interrupt, runInterruptible } from "@holdfast/testkit/interruptible";
import { inspectMachine } from "./machine.ts";
import { type BenchOptions, parseCommand } from "./options.ts";
import { planOf, shuffled } from "./plan.ts";
import { headOf, lineOf } from "./progress.ts";
import type { Turn } from "./record.ts";
import { summaryOf } from "./report/summary.ts";
import { findingsOf, targetLines } from "./report/targets.ts";
import { writeReport } from "./report/write.ts";
import { run } from "./run.ts";

const exitCodes = { done: 0, cannotRun: 2 };

await runInterruptible(main);

async function main(interrupt: Interrupt): Promise<number> {
  const command = parseCommand(process.argv.slice(2));
  if (command.kind === "print") {
    process.stdout.write(command.text);
    return exitCodes.done;
  }
  if (command.kind === "bad") {
    process.stderr.write(`bench: ${command.message}\nTry --help.\n`);
    return exitCodes.cannotRun;
  }
  try {
    await measure(command.options, interrupt.signal);
    return exitCodes.done;
  } catch (error) {
    if (interrupt.signal.aborted) {
      console.log("Stopped before the end: no report.");
      return interrupt.exitCode;
    }
    process.stderr.write(`bench: ${(error as Error).message}\n`);
    return exitCodes.cannotRun;
  }
}

async function measure({ scale, workloads, command, out }: BenchOptions, signal: AbortSignal): Promise<void> {
  const cleanup = createCleanup();
  const startMs = performance.now();
  const elapsedMs = (): number => performance.now() - startMs;
  const steps = planOf(workloads, scale, shuffled);
  console.log(headOf(steps));
  const onTurn = (turn: Turn, index: number): void => {
    const step = steps[index];
    if (step !== undefined) console.log(lineOf(step, turn, elapsedMs()));
  };
  try {
    const turns = await run(steps, scale, cleanup, signal, onTurn);
    const seconds = Math.round(elapsedMs() / 1_000);
    const recording = { machine: await inspectMachine(), command, isQuick: scale.isQuick, seconds, turns };
    console.log(`\n${targetLines(findingsOf(summaryOf(turns)))}\n`);
    const folder = out ?? (await mkdtemp(join(tmpdir(), "holdfast-bench-")));
    console.log(`The report is ${await writeReport(folder, recording)}.`);
  } finally {
    await cleanup.run();
  }
}

/** `pnpm bench`: see README.md. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDice } from "@holdfast/app-kit/dice";
import { runProgram } from "@holdfast/app-kit/program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { startIdleLoops } from "./cores.ts";
import { inspectMachine } from "./machine.ts";
import { type BenchOptions, parseCommand } from "./options.ts";
import { estimateMs, planOf } from "./plan.ts";
import { planText, sliceText } from "./progress.ts";
import { goalLines } from "./report/goals.ts";
import { writeReport } from "./report/write.ts";
import { run } from "./run.ts";
import { describeDisk } from "./stores.ts";

await runProgram("bench", parseCommand(process.argv.slice(2)), measure);

async function measure(options: BenchOptions, cleanup: Cleanup, signal: AbortSignal): Promise<boolean> {
  const { subject, scale, selection, command, out } = options;
  const startMs = performance.now();
  const elapsedMs = (): number => performance.now() - startMs;
  const notes: string[] = [];
  const dice = createDice(Math.floor(Math.random() * 2 ** 31));
  const steps = planOf(options.workloads, scale, (all) => dice.some(all, all.length), selection);
  if (steps.length === 0) throw new Error("there is no such cell: see --list");
  const noLoops = options.hasIdleLoops ? await startIdleLoops(cleanup) : "they were turned off";
  if (noLoops !== undefined) notes.push(`no idle loops: ${noLoops}`);
  if (subject === "stores") notes.push(...(await describeDisk(cleanup)));
  console.log(planText(steps, estimateMs(steps, scale)));
  for (const note of notes) console.log(`Note: ${note}.`);

  const { slices, repeated } = await run(steps, scale, cleanup, signal, (slice, step) =>
    console.log(sliceText(step, slice, elapsedMs())),
  );
  const seconds = Math.round(elapsedMs() / 1_000);
  const machine = await inspectMachine(subject);
  const recording = { machine, command, isQuick: scale.isQuick, seconds, notes, repeated, slices };
  const goals = goalLines(slices);
  if (goals !== "") console.log(`\n${goals}`);
  const folder = out ?? (await mkdtemp(join(tmpdir(), "holdfast-bench-")));
  console.log(`\nThe report is ${await writeReport(subject, folder, recording)}.`);
  return true;
}

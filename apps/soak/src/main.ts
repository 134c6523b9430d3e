/** `pnpm soak`: see README.md. */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { integer, readCommand, runProgram } from "@holdfast/app-kit/program";
import { loadAll } from "./load/load.ts";
import { stressWaiting } from "./waiting/stress.ts";

const usage = `Usage: pnpm soak [--minutes N] [--seed N] [--only load|waiting]

Locks at full speed, and lets programs wait for each other. Each part takes N minutes (default 0.15), and then
checks that nothing is left behind.
`;

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly only: string | undefined;
}

await runProgram("soak", readCommand(process.argv.slice(2), parseOptions), ({ minutes, seed, only }) => {
  const durationMs = minutes * 60_000;
  const late = sleep(durationMs * 3 + 180_000, undefined, { ref: false }).then(() => {
    throw new Error("an operation hangs");
  });
  return Promise.race([soak(durationMs, seed, only), late]);
});

async function soak(durationMs: number, seed: number, only: string | undefined): Promise<boolean> {
  const problems: string[] = [];
  if (only !== "waiting") {
    const load = await loadAll(durationMs);
    console.log(load.lines.join("\n"));
    problems.push(...load.problems);
  }
  if (only !== "load") {
    const waiting = await stressWaiting(durationMs, seed);
    console.log([...waiting.lines, `seed        ${seed}`].join("\n"));
    problems.push(...waiting.problems);
  }
  for (const problem of problems) console.log(`FAILED: ${problem}`);
  return problems.length === 0;
}

function parseOptions(args: string[]): Options | string {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: "string", default: "0.15" },
      seed: { type: "string", default: String(randomInt(1_000_000)) },
      only: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return usage;
  const { only } = values;
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes <= 600)) {
    throw new RangeError(`--minutes must be above 0 and at most 600, not ${values.minutes}`);
  }
  if (only !== undefined && only !== "load" && only !== "waiting") {
    throw new RangeError(`--only must be load or waiting, not ${only}`);
  }
  return { minutes, seed: integer("--seed", values.seed, 0), only };
}

/**
 * `pnpm soak`: does everything that locks can do, at full speed, and has programs in several processes wait for each other.
 * Exits with 1 when an operation hangs, a promise is broken, or anything is left behind. See README.md.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { loadAll } from "./load/load.ts";
import { stressWaiting } from "./waiting/stress.ts";

const usage = `Usage: pnpm soak [--minutes N] [--seed N] [--only load|waiting]

Locks at full speed, and programs that wait for each other; each for so long (default 0.15),
and what is left behind.`;

const { minutes, seed, only } = optionsOf(process.argv.slice(2));
const durationMs = minutes * 60_000;

const hung = setTimeout(
  () => {
    console.log("FAILED: an operation hangs");
    process.exit(1);
  },
  durationMs * 3 + 180_000,
);
hung.unref();

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
process.exit(problems.length > 0 ? 1 : 0); // whatever is left open

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly only: string | undefined;
}

/** Reads the command line. Ends the process where there is nothing to do. */
function optionsOf(args: readonly string[]): Options {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        minutes: { type: "string", default: "0.15" },
        seed: { type: "string", default: String(randomInt(1_000_000)) },
        only: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    const { only } = values;
    const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
    if (!(minutes > 0 && minutes <= 600)) {
      throw new RangeError(`--minutes must be above 0 and at most 600, not ${values.minutes}`);
    }
    if (!Number.isSafeInteger(seed) || seed < 0)
      throw new RangeError(`--seed must be a whole number, not ${values.seed}`);
    if (only !== undefined && only !== "load" && only !== "waiting") {
      throw new RangeError(`--only must be load or waiting, not ${only}`);
    }
    return { minutes, seed, only };
  } catch (error) {
    console.error(`soak: ${(error as Error).message}`);
    process.exit(2);
  }
}

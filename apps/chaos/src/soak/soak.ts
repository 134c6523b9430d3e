/** `pnpm chaos --soak`: locks at full speed, without faults; see README.md. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ChaosOptions } from "../options.ts";
import { loadAll } from "./load.ts";
import { stressWaiting } from "./stress.ts";

/** Runs the parts, prints what they found, and resolves with whether nothing was violated. */
export function soak({ seconds, ...options }: ChaosOptions, cleanup: Cleanup): Promise<boolean> {
  const durationMs = seconds * 1_000;
  const late = sleep(durationMs * 3 + 180_000, undefined, { ref: false }).then(() => {
    throw new Error("an operation hangs");
  });
  return Promise.race([runParts(durationMs, options, cleanup), late]);
}

async function runParts(
  durationMs: number,
  { seed, only }: Pick<ChaosOptions, "seed" | "only">,
  cleanup: Cleanup,
): Promise<boolean> {
  const problems: string[] = [];
  if (only !== "waiting") {
    const load = await loadAll(durationMs, cleanup);
    console.log(load.lines.join("\n"));
    problems.push(...load.problems);
  }
  if (only !== "load") {
    const waiting = await stressWaiting(durationMs, seed, cleanup);
    console.log([...waiting.lines, `seed        ${seed}`].join("\n"));
    problems.push(...waiting.problems);
  }
  console.log(problems.length === 0 ? "Nothing was violated." : problems.map((what) => `VIOLATED: ${what}`).join("\n"));
  return problems.length === 0;
}

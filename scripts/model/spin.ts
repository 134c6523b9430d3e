import { existsSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/run.ts";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { root } from "../lib/workspace.ts";
import { type Outcome, type Run, readOutcome, readRun } from "./output.ts";
import type { Search } from "./searches.ts";

const longestRunMs = 60 * 60_000;
const memoryLimitMb = 6_000;
const stackDepth = 3_000_000;

/** The largest fence in a run for the report, which is enough for every variant. */
const largestFence = 3;

/** The outcome of a search, and its duration. */
export interface Result extends Outcome {
  readonly seconds: number;
}

/** Searches all states, up to the first that violates the property. */
export function search({ model, defines, expects, isSmall = expects === "run" }: Search): Promise<Result> {
  return withTemporaryFolder(async (folder) => {
    const startedAt = performance.now();
    await compile(folder, model, defines, isSmall ? "-O0" : "-O2");
    const output = await verify(folder, stackDepth, isSmall);
    return { ...readOutcome(output), seconds: (performance.now() - startedAt) / 1_000 };
  });
}

/**
 * Finds a short run with small numbers that violates the property: searches to a depth, which it increases until it
 * finds one.
 */
export function findRun({ model, defines, runDepth = 120 }: Search): Promise<Run | undefined> {
  return withTemporaryFolder(async (folder) => {
    await compile(folder, model, [...defines, `NUMBERS=${largestFence}`], "-O0");
    for (let depth = runDepth; depth <= 400; depth += 40) {
      await verify(folder, depth, true);
      if (!existsSync(join(folder, "fencing.pml.trail"))) continue;
      return readRun(await run("./pan", ["-r", "fencing.pml.trail", "-n"], folder));
    }
    return undefined;
  });
}

async function compile(
  folder: string,
  model: Search["model"] = "fencing",
  defines: readonly string[],
  optimization: string,
): Promise<void> {
  await run("spin", ["-a", ...defines.map((define) => `-D${define}`), join(root, `spec/${model}.pml`)], folder);
  // Checks assertions only. The model has a single process, so partial order reduction would change nothing.
  const options = ["-DSAFETY", "-DNOREDUCE", `-DMEMLIM=${memoryLimitMb}`];
  await run("gcc", [optimization, "-w", ...options, "-o", "pan", "pan.c"], folder);
}

/** Runs the search. A large one takes less time with more places for its states, and with large pages of memory. */
function verify(folder: string, depth: number, isSmall: boolean): Promise<string> {
  const hashBits = isSmall ? 22 : 24;
  const env: Record<string, string> = isSmall ? {} : { GLIBC_TUNABLES: "glibc.malloc.hugetlb=1" };
  return run("./pan", [`-m${depth}`, `-w${hashBits}`], folder, { env, timeoutMs: longestRunMs });
}

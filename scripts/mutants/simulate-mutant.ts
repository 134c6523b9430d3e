import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { build, type Plugin } from "esbuild";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { root } from "../lib/workspace.ts";
import type { Mutant } from "./mutants.ts";

/** What the simulation finds wrong with a mutant. */
export interface Finding {
  /** The first seed with which it does. */
  readonly seed: number;
  readonly checker: string;
  /** What the checker found. */
  readonly what: string;
}

const seeds = 2000;

/** A mutant may loop for ever; all seeds together take a fraction of that. */
const longestRunMs = 300_000;

/** Simulates a mutant of core under survivable faults, seed after seed, until a checker finds something. */
export function simulateMutant(mutant: Mutant): Promise<Finding | undefined> {
  return withTemporaryFolder(async (folder) => {
    const outfile = join(folder, "find-violation.mjs");
    await build({
      entryPoints: [resolve(root, "scripts/mutants/find-violation.ts")],
      outfile,
      bundle: true,
      platform: "node",
      target: "node20",
      format: "esm",
      conditions: ["@holdfast/source"],
      logLevel: "silent",
      plugins: [breaks(mutant)],
    });
    return firstFinding(new Worker(outfile, { workerData: { seeds } }));
  });
}

/** Breaks core on its way into the bundle. */
function breaks({ file, from, to }: Mutant): Plugin {
  const path = resolve(root, "packages/core/src", file);
  return {
    name: "mutant",
    setup({ onLoad }) {
      onLoad({ filter: /\/core\/src\/.*\.ts$/ }, async (source) => {
        if (source.path !== path) return undefined;
        const code = await readFile(path, "utf8");
        if (!code.includes(from)) throw new Error(`${file} does not contain: ${from}`);
        return { contents: code.replace(from, to), loader: "ts" };
      });
    },
  };
}

async function firstFinding(worker: Worker): Promise<Finding | undefined> {
  let giveUp: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      giveUp = setTimeout(reject, longestRunMs, new Error(`the simulation did not end within ${longestRunMs} ms`));
      worker.once("message", resolve).once("error", reject);
    });
  } finally {
    clearTimeout(giveUp);
    await worker.terminate();
  }
}

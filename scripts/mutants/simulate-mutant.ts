import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { build, type Plugin } from "esbuild";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { root } from "../lib/workspace.ts";
import { type Mutant, pathOf } from "./mutants.ts";

/** A violation that the simulation finds with a mutant. */
export interface Finding {
  /** The first seed that finds it. */
  readonly seed: number;
  readonly checker: string;
  /** The violation, as the checker describes it. */
  readonly what: string;
}

const seeds = 2000;

/** A mutant may loop forever. All seeds together need a fraction of this time. */
const longestRunMs = 300_000;

/** Simulates a mutant under its class of faults, seed after seed, until a checker finds a violation. */
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
      plugins: [inject(mutant)],
    });
    return firstFinding(new Worker(outfile, { workerData: { seeds, faults: mutant.faults ?? "survivable" } }));
  });
}

/** Injects the fault when its file is bundled. */
function inject(mutant: Mutant): Plugin {
  const { from, to } = mutant;
  const path = pathOf(mutant);
  return {
    name: "mutant",
    setup({ onLoad }) {
      onLoad({ filter: /\/packages\/(core|membership)\/src\/.*\.ts$/ }, async (source) => {
        if (source.path !== path) return undefined;
        const code = await readFile(path, "utf8");
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

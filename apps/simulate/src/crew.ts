import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { addTallies, emptyTally, type FaultClassName, type Tally } from "@holdfast/simulation";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { build } from "esbuild";

/** How much of one class to simulate. */
export interface Assignment {
  readonly faults: FaultClassName;
  readonly from: number;
  /** The least number of runs. */
  readonly runs: number;
  /** The least number of operations that clients end, in as many runs as it takes. */
  readonly operations: number;
}

/** The number of seeds that a thread gets at a time. */
const seedsPerTurn = 10;

/** Starts a thread for each core, which the cleanup ends. Returns a function that simulates an assignment with all of them. */
export async function callCrew(cleanup: Cleanup) {
  const code = await bundleWorker();
  const resourceLimits = { maxYoungGenerationSizeMb: 64 }; // most objects of a run die young
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(code, { eval: true, resourceLimits }),
  );
  cleanup.defer(async () => void (await Promise.all(workers.map((worker) => worker.terminate()))));
  return async (assignment: Assignment, onProgress: (sofar: Tally) => void): Promise<Tally> => {
    const { faults, from, runs, operations } = assignment;
    let next = from;
    let tally = emptyTally();
    const work = async (worker: Worker): Promise<void> => {
      while (next < from + runs || tally.operations < operations) {
        const left = from + runs - next;
        const count = left > 0 ? Math.min(seedsPerTurn, left) : seedsPerTurn;
        const seeds = { faults, from: next, count };
        next += count;
        tally = addTallies(await simulateOn(worker, seeds), tally);
        onProgress(tally);
      }
    };
    await Promise.all(workers.map(work));
    return tally;
  };
}

function simulateOn(worker: Worker, seeds: { faults: FaultClassName; from: number; count: number }): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const settle = (tally: Tally): void => {
      worker.off("error", reject);
      resolve(tally);
    };
    worker.once("message", settle).once("error", reject);
    worker.postMessage(seeds);
  });
}

/** Bundles the worker. The output of `tsx` is slower, because it names every closure each time it is created. */
async function bundleWorker(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("worker.ts", import.meta.url))],
    bundle: true,
    write: false,
    platform: "node",
    target: "node20",
    format: "cjs",
    conditions: ["@holdfast/source"],
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

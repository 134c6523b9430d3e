import { once } from "node:events";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { addTallies, emptyTally, type FaultClassName, type Tally } from "@holdfast/simulation";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";

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
  // Bundled: the output of `tsx` is slower, because it names every closure each time it is created.
  const program = await bundleProgram(new URL("worker.ts", import.meta.url));
  const resourceLimits = { maxYoungGenerationSizeMb: 64 }; // most objects of a run die young
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(program, { execArgv: [], resourceLimits }),
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

async function simulateOn(worker: Worker, seeds: { faults: FaultClassName; from: number; count: number }) {
  const reply = once(worker, "message");
  worker.postMessage(seeds);
  const [tally] = await reply;
  return tally as Tally;
}

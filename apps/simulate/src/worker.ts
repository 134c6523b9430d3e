/** A thread that simulates the seeds that it is told. */
import { parentPort } from "node:worker_threads";
import { type SeedsOptions, simulateSeeds } from "@holdfast/simulation";

parentPort?.on("message", (seeds: SeedsOptions) => {
  void simulateSeeds(seeds).then((tally) => parentPort?.postMessage(tally));
});

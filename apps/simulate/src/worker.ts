/** A thread that simulates the seeds it is sent. */
import { parentPort } from "node:worker_threads";
import { type SeedsOptions, simulateSeeds } from "@holdfast/simulation";

parentPort?.on("message", (seeds: SeedsOptions) => {
  void simulateSeeds(seeds).then((tally) => parentPort?.postMessage(tally));
});

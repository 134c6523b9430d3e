/** A thread that simulates the seeds it is sent. */
import { parentPort } from "node:worker_threads";
import { type SeedsOptions, simulateSeeds } from "@holdfast/simulation";
import { watchForSleepers } from "@holdfast/testkit/sleepers";

parentPort?.on("message", (seeds: SeedsOptions) => {
  void simulateSeeds({ ...seeds, invariant: watchForSleepers }).then((tally) => parentPort?.postMessage(tally));
});

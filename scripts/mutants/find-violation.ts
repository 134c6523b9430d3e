/** A thread that simulates seed after seed with the core in its bundle, until a checker finds a violation. */
import { parentPort, workerData } from "node:worker_threads";
import { drawScenario, type FaultClassName, simulate } from "@holdfast/simulation";
import { watchForSleepers } from "@holdfast/testkit/sleepers";

const { seeds, faults } = workerData as { readonly seeds: number; readonly faults: FaultClassName };

parentPort?.postMessage(await firstViolation());

async function firstViolation(): Promise<{ seed: number; checker: string; what: string } | undefined> {
  for (let seed = 1; seed <= seeds; seed++) {
    const [violation] = (await simulate(drawScenario(faults, seed), { invariant: watchForSleepers })).violations;
    if (violation !== undefined) return { seed, checker: violation.checker, what: violation.what };
  }
  return undefined;
}

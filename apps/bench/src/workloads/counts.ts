import { uncontended as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import { type Case, opened, patienceMs, type Stage, type Workload } from "./workload.ts";

const nodes = 5;

export const counts: Workload = {
  name: "counts",
  title: "What a lock takes, counted",
  description:
    "What does not depend on the machine, for one lock on five nodes that nobody else wants: acquired and released one " +
    "after another, or a hundred acquired in one tick and released in one.",
  contenders,
  quickContenders: ["holdfast/ioredis", "holdfast/node-redis", "raw ioredis"],
  cases: [caseOf("one at a time", 1), caseOf("100 in one tick", 100)],
  columns: ["commandsPerNode", "writesPerNode", "bytesPerLock", "timersPerLock", "promisesPerLock"],
  roundsMax: 1,
  layout: "tables",
};

function caseOf(name: string, atOnce: number): Case {
  return { name, nodes, processes: 1, isQuick: true, run: (stage) => runCount(stage, atOnce) };
}

/** How many locks are counted. */
const locks = 200;

async function runCount(stage: Stage, atOnce: number): Promise<Figures> {
  const { servers, prefix } = stage;
  const worker = stage.worker(1); // not the one whose speed is measured: hooks that count leave traces
  await servers.empty(nodes);
  return opened(stage, { nodes, isPatient: true }, [worker], async () => {
    const request = { prefix, atOnce, times: locks / atOnce };
    await worker.call("count", request, patienceMs); // what is made once is there now
    const watch = await servers.watch(nodes);
    const outcome = await worker.call("count", request, patienceMs);
    const { bytes } = await watch();
    worker.kill();
    return {
      promisesPerLock: outcome.promises / outcome.locks,
      timersPerLock: outcome.timers / outcome.locks,
      commandsPerNode: outcome.commands / outcome.locks / nodes,
      writesPerNode: outcome.writes / outcome.locks / nodes,
      bytesPerLock: bytes / outcome.locks,
    };
  });
}

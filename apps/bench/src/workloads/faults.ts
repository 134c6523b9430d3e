import { uncontended as contenders } from "../contenders/index.ts";
import { type CycleSetting, runCycle } from "./cycle.ts";
import type { Case, Stage, Workload } from "./workload.ts";

const nodes = 5;

export const faults: Workload = {
  name: "faults",
  title: "Servers that hang or die",
  description:
    "One process acquires and releases, one lock at a time, over five nodes. Some servers are stopped (SIGSTOP: " +
    "connections stay open, nothing is answered), or one is killed, after the warm-up.",
  contenders: contenders.filter(({ spansProcesses }) => spansProcesses),
  quickContenders: ["holdfast/ioredis", "holdfast/node-redis"],
  cases: [
    caseOf("all healthy", async () => async () => {}),
    caseOf("one hung", (stage) => hang(stage, 1)),
    caseOf("two hung", (stage) => hang(stage, 2)),
    caseOf("one killed", killOne),
  ],
  columns: ["acquireP50Ms", "acquireP99Ms", "opsPerSecond", "failed", "stuck"],
  layout: "tables",
};

function caseOf(name: string, fault: NonNullable<CycleSetting["fault"]>): Case {
  return {
    name,
    nodes,
    processes: 1,
    isQuick: true,
    run: (stage) => runCycle(stage, { nodes, workers: 1, fault }),
  };
}

async function hang({ servers }: Stage, count: number): Promise<() => Promise<void>> {
  const hung = (await servers.first(nodes)).slice(0, count);
  for (const server of hung) server.pause();
  return async () => {
    for (const server of hung) server.resume();
  };
}

async function killOne({ servers }: Stage): Promise<() => Promise<void>> {
  const [server] = await servers.first(nodes);
  await server?.kill();
  return async () => server?.restart();
}

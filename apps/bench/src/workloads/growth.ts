/** How costs grow: one curve for each contender. */
import { contended, uncontended } from "../contenders/index.ts";
import { runContest } from "./contest.ts";
import { runCycle } from "./cycle.ts";
import type { Workload } from "./workload.ts";

const shown = uncontended.filter(({ settings }) => settings.awaitsRelease);

export const growthOfNodes: Workload = {
  name: "growth-nodes",
  title: "More nodes",
  description: "One process acquires and releases keys that nobody else wants, a hundred at a time.",
  contenders: shown,
  quickContenders: [],
  cases: [1, 3, 5, 7, 9, 11, 13, 15].map((nodes) => ({
    name: String(nodes),
    nodes,
    processes: 1,
    isQuick: false,
    run: (stage) => runCycle(stage, { nodes, workers: 100 }),
  })),
  columns: ["opsPerSecond", "clientCpuUs"],
  layout: { curveOver: "nodes" },
};

export const growthOfWaiters: Workload = {
  name: "growth-waiters",
  title: "More waiters",
  description: "Workers of one process contend for one key on five nodes, and hold it for a millisecond.",
  contenders: contended,
  quickContenders: [],
  cases: [1, 3, 10, 30, 100, 300, 1_000].map((workers) => ({
    name: String(workers),
    nodes: 5,
    processes: 1,
    isQuick: false,
    run: (stage) => runContest(stage, { nodes: 5, processes: 1, workers }),
  })),
  columns: ["locksPerSecond", "waitP99Ms", "failed"],
  layout: { curveOver: "workers" },
};

export const growthOfResources: Workload = {
  name: "growth-resources",
  title: "More keys in one lock",
  description: "One process acquires and releases, one lock at a time, on five nodes. Each lock covers several keys.",
  contenders: shown.filter(({ locksSeveral }) => locksSeveral),
  quickContenders: [],
  cases: [1, 3, 10, 30, 100].map((keysPerLock) => ({
    name: String(keysPerLock),
    nodes: 5,
    processes: 1,
    isQuick: false,
    run: (stage) => runCycle(stage, { nodes: 5, workers: 1, keysPerLock }),
  })),
  columns: ["opsPerSecond", "pairP50Ms"],
  layout: { curveOver: "keys" },
};

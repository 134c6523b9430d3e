import { contended as contenders } from "../contenders/index.ts";
import { runContest } from "./contest.ts";
import type { Case, Workload } from "./workload.ts";

/** Ours, and who is best of the others at something. */
const quickTogether = ["holdfast/ioredis", "redlock-universal/ioredis"];
const quickAlone = [...quickTogether, "redlock 5 beta"];

export const contended: Workload = {
  name: "contended",
  title: "One key that all want",
  description:
    "Workers acquire the same key on five nodes, hold it for a millisecond, and release it. Who has just released asks " +
    "again at once. It shows how much of the time somebody holds the lock, how long the others wait, and whether all " +
    "have their share.",
  contenders,
  quickContenders: quickAlone,
  cases: [caseOf(1, 50), caseOf(5, 10), caseOf(8, 10)],
  columns: [
    "locksPerSecond",
    "waitP50Ms",
    "waitP99Ms",
    "waitMaxMs",
    "failed",
    "jainWorkers",
    "jainProcesses",
    "commandsPerNode",
    "clientCpuUs",
    "serverCpuUs",
    "bytesPerLock",
  ],
  layout: "tables",
};

function caseOf(processes: number, workers: number): Case {
  return {
    name: `${processes} ${processes === 1 ? "process" : "processes"} × ${workers} workers`,
    nodes: 5,
    processes,
    isQuick: true,
    ...(processes > 1 && { quickContenders: quickTogether }),
    run: (stage) => runContest(stage, { nodes: 5, processes, workers }),
  };
}

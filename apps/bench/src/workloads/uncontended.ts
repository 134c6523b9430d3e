import { uncontended as contenders } from "../contenders/index.ts";
import { runCycle } from "./cycle.ts";
import type { Case, Workload } from "./workload.ts";

export const uncontended: Workload = {
  name: "uncontended",
  title: "Keys that nobody else wants",
  description:
    "One process acquires and releases at full speed, so many at a time, each with keys of its own. It shows what a lock " +
    "costs, and what of it is due to the client library and to the kernel.",
  contenders,
  quickContenders: [
    "holdfast/ioredis",
    "holdfast/node-redis",
    "holdfast/ioredis, release not awaited",
    "redlock 5 beta",
    "@sesamecare-oss/redlock",
    "redis-semaphore",
    "redlock-universal/ioredis",
    "raw ioredis",
    "raw ioredis, fenced",
    "raw ioredis, fenced, batching",
    "bare socket, batching",
  ],
  cases: [5, 3, 1].flatMap((nodes) => [1, 10, 100, 1_000].map((workers) => caseOf(nodes, workers))),
  columns: [
    "opsPerSecond",
    "pairP50Ms",
    "pairP99Ms",
    "clientCpuUs",
    "serverCpuUs",
    "bytesPerLock",
    "allocatedBytes",
    "failed",
  ],
  layout: "tables",
};

function caseOf(nodes: number, workers: number): Case {
  return {
    name: `${nodes} ${nodes === 1 ? "node" : "nodes"}, ${workers} at a time`,
    nodes,
    processes: 1,
    isQuick: nodes === 5 && workers <= 100,
    run: (stage) => runCycle(stage, { nodes, workers }),
  };
}

import { uncontended as contenders } from "../contenders/index.ts";
import { runCycle } from "./cycle.ts";
import type { Case, Workload } from "./workload.ts";

const rivals = ["holdfast/ioredis", "holdfast/node-redis", "redlock 5 beta", "@sesamecare-oss/redlock"];

/** Ours and what ours are compared with, by how many are at it at a time. */
const quickContenders: Readonly<Record<number, readonly string[]>> = {
  1: ["holdfast/ioredis", "holdfast/ioredis, release not awaited", "raw ioredis", "raw ioredis, fenced"],
  10: rivals,
  100: [...rivals, "raw ioredis, fenced, batching", "bare socket, batching"],
};

export const uncontended: Workload = {
  name: "uncontended",
  title: "Keys that nobody else wants",
  description:
    "One process acquires and releases at full speed, so many at a time, each with keys of its own. It shows what a lock " +
    "costs, and what of it is due to the client library and to the kernel.",
  contenders,
  quickContenders: [...new Set(Object.values(quickContenders).flat())],
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
  const quick = nodes === 5 ? quickContenders[workers] : undefined;
  return {
    name: `${nodes} ${nodes === 1 ? "node" : "nodes"}, ${workers} at a time`,
    nodes,
    processes: 1,
    isQuick: quick !== undefined,
    ...(quick && { quickContenders: quick }),
    run: (stage) => runCycle(stage, { nodes, workers }),
  };
}

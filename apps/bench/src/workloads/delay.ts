import { uncontended as contenders } from "../contenders/index.ts";
import { runCycle } from "./cycle.ts";
import type { Workload } from "./workload.ts";

export const delay: Workload = {
  name: "delay",
  title: "A network that takes its time",
  description:
    "One process acquires and releases keys that nobody else wants, over a proxy that delays whatever passes it. A pair " +
    "should take two round trips.",
  contenders: contenders.filter(({ spansProcesses }) => spansProcesses),
  quickContenders: [],
  cases: [2, 20].flatMap((roundTripMs) =>
    [1, 100].map((workers) => ({
      name: `round trips of ${roundTripMs} ms, ${workers} at a time`,
      nodes: 5,
      processes: 1,
      isQuick: false,
      run: (stage) => runCycle(stage, { nodes: 5, workers, roundTripMs }),
    })),
  ),
  columns: ["opsPerSecond", "acquireP50Ms", "pairP50Ms", "pairP99Ms", "failed"],
  layout: "tables",
};

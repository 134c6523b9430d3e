import { contended } from "./contended.ts";
import { counts } from "./counts.ts";
import { handOver } from "./hand-over.ts";
import { roundTrips, separateCoresWorkload, uncontended } from "./uncontended.ts";
import type { Workload } from "./workload.ts";

/** All workloads, in the order of the report. */
export const workloads: readonly Workload[] = [
  roundTrips,
  uncontended,
  separateCoresWorkload,
  contended,
  handOver,
  counts,
];

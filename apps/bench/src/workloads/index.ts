import { cold } from "./cold.ts";
import { contended } from "./contended.ts";
import { counts } from "./counts.ts";
import { handOver } from "./hand-over.ts";
import { oneName, ownNames, twoNames } from "./stores.ts";
import { roundTrips, uncontended } from "./uncontended.ts";
import { waiting } from "./waiting.ts";
import type { Workload } from "./workload.ts";

/** All workloads for libraries over Redis, in the order of the report. */
export const workloads: readonly Workload[] = [
  ...[roundTrips, uncontended, cold, contended, handOver, ...waiting, counts],
];

/** All workloads for single stores of several kinds, in the order of their report. */
export const storeWorkloads: readonly Workload[] = [ownNames, oneName, twoNames];

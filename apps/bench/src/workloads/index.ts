import { contended } from "./contended.ts";
import { counts } from "./counts.ts";
import { delay } from "./delay.ts";
import { faults } from "./faults.ts";
import { growthOfNodes, growthOfResources, growthOfWaiters } from "./growth.ts";
import { handOver } from "./hand-over.ts";
import { held } from "./held.ts";
import { importing } from "./import.ts";
import { uncontended } from "./uncontended.ts";
import type { Workload } from "./workload.ts";

/** All workloads, in the order of the report. */
export const workloads: readonly Workload[] = [
  uncontended,
  contended,
  handOver,
  faults,
  counts,
  held,
  importing,
  delay,
  growthOfNodes,
  growthOfWaiters,
  growthOfResources,
];

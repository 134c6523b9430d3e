/** Deterministic simulation of locks under faults: a seed reproduces every run. */

export type { TimelineLine } from "@holdfast/history/checks";
export { type Checker, check, checkers, type Violation } from "./check/checkers.ts";
export type { WaitingLimits } from "./check/waiting-limits.ts";
export { type CritiqueName, critiqueScenarios } from "./critique.ts";
export type * from "./history/history.ts";
export type * from "./history/trace.ts";
export { describeFault } from "./report/describe-fault.ts";
export { formatRun, shrinkAndFormat } from "./report/format-run.ts";
export { formatTimeline, type TimelineEvent, timelineLines } from "./report/timeline.ts";
export { drawScenario } from "./scenario/draw-scenario.ts";
export type * from "./scenario/fault.ts";
export {
  type FaultClass,
  type FaultClassName,
  faultClasses,
  type Hazard,
} from "./scenario/fault-classes.ts";
export type { Membership, Operation, Scenario, ScenarioClient, ScenarioSettings } from "./scenario/scenario.ts";
export { shrink } from "./shrink.ts";
export { type Run, type SimulateOptions, type StartInvariant, simulate } from "./simulate.ts";
export {
  addTallies,
  emptyTally,
  type FoundBy,
  missingViolation,
  type SeedsOptions,
  simulateSeeds,
  type Tally,
  unexpectedViolations,
} from "./simulate-seeds.ts";
export type { CreateNode, NodeSite } from "./world/node-host.ts";
export type { Tools } from "./world/tools.ts";

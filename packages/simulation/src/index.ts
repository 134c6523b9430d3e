/** Deterministic simulation of locks under faults. */

export { type Checker, check, checkers, type Violation } from "./checkers.ts";
export { type CritiquedCase, critique } from "./critique.ts";
export { drawScenario } from "./draw-scenario.ts";
export { explain, tellStory } from "./explain.ts";
export type * from "./fault.ts";
export { type FaultClass, type FaultClassName, faultClasses, type Hazard, type OrdinaryKind } from "./fault-classes.ts";
export type { Finding } from "./finding.ts";
export type * from "./history.ts";
export type { CreateNode, NodeSite } from "./node-host.ts";
export type { Trust } from "./recorder.ts";
export type { Operation, Scenario, ScenarioClient, ScenarioSettings } from "./scenario.ts";
export { shrink } from "./shrink.ts";
export { type Run, type SimulateOptions, simulate } from "./simulate.ts";
export {
  addTallies,
  complaints,
  emptyTally,
  type FoundBy,
  mustShow,
  type SeedsOptions,
  simulateSeeds,
  type Tally,
} from "./simulate-seeds.ts";
export { formatTimeline, type TimelineEvent } from "./timeline.ts";
export type { WaitingLimits } from "./waiting-limits.ts";

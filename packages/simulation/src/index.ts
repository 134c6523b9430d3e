/** Deterministic simulation of locks under faults. */

export { type Checker, check, checkers, type Violation } from "./checkers.ts";
export type * from "./fault.ts";
export type * from "./history.ts";
export type { CreateNode, NodeSite } from "./node-host.ts";
export type { Trust } from "./recorder.ts";
export type { Operation, Scenario, ScenarioClient, ScenarioSettings } from "./scenario.ts";
export { type Run, type SimulateOptions, simulate } from "./simulate.ts";
export { formatTimeline, type TimelineEvent } from "./timeline.ts";

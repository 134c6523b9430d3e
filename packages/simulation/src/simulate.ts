import { memoryNode } from "@holdfast/memory";
import { check, type Violation } from "./check/checkers.ts";
import type { WaitingLimits } from "./check/waiting-limits.ts";
import type { History } from "./history/history.ts";
import { Recorder } from "./history/recorder.ts";
import type { Trace } from "./history/trace.ts";
import { Tracer } from "./history/tracer.ts";
import type { Log, TimelineEvent } from "./report/timeline.ts";
import { Dice } from "./scenario/dice.ts";
import type { Fault } from "./scenario/fault.ts";
import { assertKnownNames, complete, type FullScenario, type Scenario } from "./scenario/scenario.ts";
import { playOut } from "./world/ending.ts";
import type { CreateNode } from "./world/node-host.ts";
import { setStage, traced } from "./world/stage.ts";
import { coreTools, type Tools } from "./world/tools.ts";
import { World } from "./world/world.ts";

/** Options of a simulation. */
export interface SimulateOptions {
  /** Creates the nodes. Default: memory nodes. */
  readonly createNode?: CreateNode | undefined;
  /** Parts of core to replace, such as by wrong variants that the checkers must find. Default: the unchanged core. */
  readonly tools?: Partial<Tools> | undefined;
  /** Limits of waiting that replace the defaults. */
  readonly limits?: Partial<WaitingLimits> | undefined;
  /** A further check of each step. Default: none. */
  readonly invariant?: StartInvariant | undefined;
  /** Whether to record the timeline. Default false. */
  readonly timeline?: boolean | undefined;
  /** Whether to record the trace: all that a picture of the run needs. Default false. */
  readonly trace?: boolean | undefined;
}

/**
 * Called at the start of a run. Returns a check, called after each event, that returns what is wrong, if anything: that
 * breaks liveness. It must not read the clock of a client, as a pause may strike there.
 */
export type StartInvariant = () => () => string | undefined;

/** The result of a simulation. */
export interface Run {
  /** The history that the checkers judged. */
  readonly history: History;
  /** The violations that the checkers found, the earliest first. */
  readonly violations: readonly Violation[];
  /** How many operations ended. */
  readonly operations: number;
  /** How many changes of the set of nodes were completed. */
  readonly changes: number;
  /** How many notifications reached clients. */
  readonly notifications: number;
  /** How many of them named the receiving client as the next. */
  readonly turns: number;
  /** The faults that struck. The others were due later, or on messages that were never sent. */
  readonly struck: readonly Fault[];
  /** The number of events in the simulated world. */
  readonly events: number;
  /** All events, if `timeline` is set. */
  readonly timeline: readonly TimelineEvent[];
  /** What the run looked like, if `trace` is set. */
  readonly trace?: Trace | undefined;
}

const memory: CreateNode = ({ name, clock, counters }) => memoryNode({ name, clock, counters, fenceTtlMs: Infinity });

let previous: Promise<unknown> = Promise.resolve();

/**
 * Simulates a scenario: the unchanged core over nodes in this process, in virtual time. The same scenario always gives
 * the same history. Concurrent calls run one after another, as each simulation replaces `Math.random` while it runs.
 *
 * @param scenario what the clients do, and which faults strike
 * @param options what to record, and what replaces the nodes and the tools
 * @throws {RangeError} (as a rejection) if a fault names a client or node that the scenario does not have
 *
 * @example
 * ```ts
 * import { simulate } from "@holdfast/simulation";
 *
 * const { violations } = await simulate({
 *   nodes: 3,
 *   clients: [{ name: "client 1", workers: [[{ by: "acquire", resources: ["stock"] }]] }],
 *   faults: [{ kind: "node crash", node: "C", atMs: 1, forMs: 500, memory: "kept", isSilent: false }],
 * });
 * console.log(violations); // []
 * ```
 */
export async function simulate(scenario: Scenario, options: SimulateOptions = {}): Promise<Run> {
  const full = complete(scenario);
  assertKnownNames(full);
  return simulateUnchecked(full, options);
}

/** Like `simulate`, but allows faults that can never strike because their client or node is gone. */
export function simulateUnchecked(scenario: FullScenario, options: SimulateOptions = {}): Promise<Run> {
  const run = previous.then(() => simulateAlone(scenario, options));
  previous = run.catch(() => {});
  return run;
}

async function simulateAlone(scenario: FullScenario, options: SimulateOptions): Promise<Run> {
  const invariant = options.invariant?.();
  const world = new World(() => {
    const broken = invariant?.();
    if (broken !== undefined) recorder.broke(world.nowMs, broken);
  });
  const timeline: TimelineEvent[] = [];
  const write: Log = (atMs, who, remark) => {
    const remarked = remark();
    if (remarked === undefined) return;
    timeline.push({ atMs, who, ...(typeof remarked === "string" ? { what: remarked } : remarked) });
  };
  const isTold = options.timeline || options.trace;
  const recorder = new Recorder(isTold ? write : () => {}, scenario.faults.length === 0);
  const strayDice = new Dice(scenario.seed);
  const tools = { ...(await coreTools(scenario)), ...options.tools };
  await withGlobals({ random: () => (world.running?.dice ?? strayDice).next() }, () => {
    const stage = setStage(scenario, world, recorder, options.createNode ?? memory, tools);
    if (options.trace) recorder.tracer = new Tracer(traced(stage));
    return playOut(stage);
  });
  const { operations, changes, notifications, turns, faults: struck } = recorder;
  const { events } = world;
  return {
    history: recorder,
    violations: check(recorder, options.limits),
    operations,
    changes,
    notifications,
    turns,
    struck,
    events,
    timeline: options.timeline ? timeline : [],
    trace: recorder.tracer?.trace(timeline, recorder.counterLosses),
  };
}

/**
 * Runs with a seeded `Math.random`, from which core draws its delays, and without stack traces, which take long to
 * make.
 */
async function withGlobals({ random }: Pick<Math, "random">, run: () => Promise<void>): Promise<void> {
  const original = { random: Math.random, stackTraceLimit: Error.stackTraceLimit };
  Math.random = random;
  Error.stackTraceLimit = 0;
  try {
    await run();
  } finally {
    Math.random = original.random;
    Error.stackTraceLimit = original.stackTraceLimit;
  }
}

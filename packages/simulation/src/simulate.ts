import { memoryNode } from "@holdfast/memory";
import { check, type Violation } from "./check/checkers.ts";
import type { WaitingLimits } from "./check/waiting-limits.ts";
import type { History } from "./history/history.ts";
import { Recorder } from "./history/recorder.ts";
import type { Tell, TimelineEvent } from "./report/timeline.ts";
import { Dice } from "./scenario/dice.ts";
import type { Fault } from "./scenario/fault.ts";
import { assertKnownNames, complete, type FullScenario, type Scenario } from "./scenario/scenario.ts";
import { playOut } from "./world/ending.ts";
import type { CreateNode } from "./world/node-host.ts";
import { setStage } from "./world/stage.ts";
import { World } from "./world/world.ts";

/** How a scenario is simulated. */
export interface SimulateOptions {
  /** Makes the nodes. Default: memory nodes. */
  readonly createNode?: CreateNode | undefined;
  /** What waiters are promised, where it differs from the defaults. */
  readonly limits?: Partial<WaitingLimits> | undefined;
  /** Whether to write down everything that happens. Default false. */
  readonly timeline?: boolean | undefined;
}

/** What came of a simulation. */
export interface Run {
  /** What happened, as far as it is judged. */
  readonly history: History;
  /** What the checkers found, the earliest first. */
  readonly violations: readonly Violation[];
  /** How many operations ended. */
  readonly operations: number;
  /** How many notifications reached clients. */
  readonly notifications: number;
  /** How many of them named the client that they reached as the next. */
  readonly turns: number;
  /** The faults that struck; others would have struck later, or something that did not happen. */
  readonly struck: readonly Fault[];
  /** How many events of the simulated world there were. */
  readonly events: number;
  /** Everything that happened, if it was asked for. */
  readonly timeline: readonly TimelineEvent[];
}

const memory: CreateNode = ({ name, clock }) => memoryNode({ name, clock, fenceTtlMs: Infinity });

let previous: Promise<unknown> = Promise.resolve();

/**
 * Simulates a scenario: the unchanged core over nodes of this process, in virtual time. The same scenario always leads
 * to the same history. Simulations of one process run one after another, as each replaces `Math.random` while it runs.
 *
 * @throws {RangeError} (as a rejection) if a fault names a client or node that the scenario does not have
 */
export async function simulate(scenario: Scenario, options: SimulateOptions = {}): Promise<Run> {
  const full = complete(scenario);
  assertKnownNames(full);
  return simulateUnchecked(full, options);
}

/** The same for a scenario of which it does not matter whether all its faults can strike. */
export function simulateUnchecked(scenario: FullScenario, options: SimulateOptions = {}): Promise<Run> {
  const run = previous.then(() => simulateAlone(scenario, options));
  previous = run.catch(() => {});
  return run;
}

async function simulateAlone(scenario: FullScenario, options: SimulateOptions): Promise<Run> {
  const world = new World();
  const timeline: TimelineEvent[] = [];
  const write: Tell = (atMs, who, remark) => {
    const said = remark();
    timeline.push({ atMs, who, ...(typeof said === "string" ? { what: said } : said) });
  };
  const recorder = new Recorder(options.timeline ? write : () => {}, scenario.faults.length === 0);
  const strayDice = new Dice(scenario.seed);
  await withGlobals({ random: () => (world.running?.dice ?? strayDice).next() }, () =>
    playOut(setStage(scenario, world, recorder, options.createNode ?? memory)),
  );
  const { operations, notifications, turns, faults: struck } = recorder;
  const { events } = world;
  return {
    history: recorder,
    violations: check(recorder, options.limits),
    operations,
    notifications,
    turns,
    struck,
    events,
    timeline,
  };
}

/** What core takes from outside: the delays between attempts. And no stacks of all the errors, which take long to make. */
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

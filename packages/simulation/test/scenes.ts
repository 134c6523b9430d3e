import type { LockNode } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import {
  type CreateNode,
  formatRun,
  type Operation,
  type Run,
  type Scenario,
  type ScenarioClient,
  type SimulateOptions,
  simulate,
} from "@holdfast/simulation";

/** A client with one worker. */
export function client(number: number, ...operations: Operation[]): ScenarioClient {
  return { name: `client ${number}`, workers: [operations] };
}

/** Locks `stock`, updates it once, and releases it. */
export function update(operation: Partial<Operation> = {}): Operation {
  return { by: "acquire", resources: ["stock"], ...operation };
}

/** Simulates a scenario and returns the checkers that find something. */
export async function found(scenario: Scenario, options?: SimulateOptions): Promise<string[]> {
  const { violations } = await simulate(scenario, options);
  return [...new Set(violations.map(({ checker }) => checker))];
}

/** Simulates a scenario and returns the lines of its timeline, without times. */
export async function lines(scenario: Scenario): Promise<string[]> {
  return linesOf(await simulate(scenario, { timeline: true }));
}

/** Returns the lines of a run's timeline, without times and with one line for each node. */
export function linesOf(run: Run): string[] {
  return formatRun(run)
    .split("\n")
    .slice(1)
    .map((line) =>
      line
        .trim()
        .replace(/^\S+\s+/, "")
        .replace(/ {2,}/, ": "),
    )
    .flatMap((line) => {
      const [, nodes, answer] = /^nodes ([A-Z ]+): (.+)$/.exec(line) ?? [];
      return nodes === undefined ? [line] : nodes.split(" ").map((node) => `node ${node}: ${answer}`);
    });
}

/** Memory nodes with some methods replaced. */
export function altered(alter: (right: ReturnType<typeof memoryNode>) => Partial<LockNode>): CreateNode {
  return ({ name, clock }) => {
    const right = memoryNode({ name, clock, fenceTtlMs: Infinity });
    return { ...right, ...alter(right) };
  };
}

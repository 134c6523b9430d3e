import { type JointSet, type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import type { heal, migration } from "@holdfast/membership";
import type { FullScenario } from "../scenario/scenario.ts";

/** The parts of core that a world uses. Tests replace them by wrong variants. */
export interface Tools {
  /** Heals nodes that lost their counters. */
  readonly heal: typeof heal;
  /** Changes the set of nodes. */
  readonly migration: typeof migration;
  /** Creates the `Redlock` of a client. */
  readonly createRedlock: (nodes: readonly LockNode[] | JointSet, options: RedlockOptions) => Redlock;
}

/** Returns the unchanged core. The functions for operators are loaded only for scenarios with work for an operator. */
export async function coreTools(scenario: FullScenario): Promise<Tools> {
  const { heal, migration } = needsOperator(scenario)
    ? await import("@holdfast/membership")
    : { heal: unavailable, migration: unavailable };
  return { heal, migration, createRedlock: (nodes, options) => new Redlock(nodes, options) };
}

function needsOperator({ membership, faults }: FullScenario): boolean {
  return membership !== undefined || faults.some((fault) => fault.kind === "node crash" && fault.healed !== undefined);
}

function unavailable(): never {
  throw new Error("the scenario has no work for an operator");
}

import { clientsOf, epochOf } from "@holdfast/core/node";
import { names } from "../names.ts";

/** What clients are configured with at one time: a set of servers, or the two sets of a change. */
export interface Stage {
  /** See `RedlockOptions.generation`. */
  readonly generation: number;
  /** The names of the servers: of one set, or of the old and the new one. */
  readonly sets: readonly [readonly string[]] | readonly [old: readonly string[], new: readonly string[]];
  /** How long a node does not vote after its server restarted, in milliseconds; 0 for no guard. */
  readonly restartGuardMs: number;
}

/** A change of the set of servers: the stages before, during and after it. */
export interface Change {
  readonly before: Stage;
  readonly joint: Stage;
  readonly after: Stage;
}

/** Returns the changes that lead from the first set of servers to the last one. */
export function changesOf(sets: readonly (readonly string[])[], restartGuardMs = 0): readonly Change[] {
  return sets.slice(1).map((after, generation) => {
    const before = sets[generation] as readonly string[];
    return {
      before: { generation, sets: [before], restartGuardMs },
      joint: { generation, sets: [before, after], restartGuardMs },
      after: { generation: generation + 1, sets: [after], restartGuardMs },
    };
  });
}

const all = names("n", 11);

/** Three servers become five, two of which were there before, and then five others. */
export const threeToFiveToFive: readonly (readonly string[])[] = [all.slice(0, 3), all.slice(1, 6), all.slice(6)];

/** Returns the names of all servers of a stage. */
export function serversOf({ sets }: Pick<Stage, "sets">): readonly string[] {
  return [...new Set(sets.flat())];
}

/** Names a stage as errors do, such as `generation 0 with both sets`. */
export function nameOf({ generation, sets }: Pick<Stage, "generation" | "sets">): string {
  return clientsOf(epochOf(generation, sets.length === 2));
}

/** Describes a stage, such as `generation 0 with both sets: n1 n2 n3 and n2 n3 n4`. */
export function describeStage(stage: Pick<Stage, "generation" | "sets">): string {
  return `${nameOf(stage)}: ${stage.sets.map((set) => set.join(" ")).join(" and ")}`;
}

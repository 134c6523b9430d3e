import type { Limit } from "./settings.ts";
import type { World } from "./world/world.ts";

/** One sentence of the contract and its proof: the name of a test, and its body. */
export interface Fact<W = World> {
  readonly statement: string;
  /** The abilities that the server must have for the sentence to apply. */
  readonly needs: readonly Limit[];
  prove(world: W): Promise<void>;
}

/**
 * A sentence about claims or counters that last: the proof starts, and completes by the returned function seconds
 * later.
 */
export interface LastingFact extends Omit<Fact, "prove"> {
  begin(world: World): Promise<() => Promise<void>>;
}

/** Returns a sentence that holds for every node. */
export function fact<W = World>(statement: string, prove: (world: W) => Promise<void>): Fact<W> {
  return { statement, needs: [], prove };
}

/** Returns a sentence that holds unless the adapter declares that its server lacks one of these abilities. */
export function factNeeding<W = World>(
  needs: Limit | readonly Limit[],
  statement: string,
  prove: (world: W) => Promise<void>,
): Fact<W> {
  return { statement, needs: typeof needs === "string" ? [needs] : needs, prove };
}

import type { Limit } from "./settings.ts";
import type { World } from "./world/world.ts";

/** One sentence of the contract, and its proof: the test's name and its body. */
export interface Fact<W = World> {
  readonly statement: string;
  /** What the server must be able to do for the sentence to apply. */
  readonly needs: readonly Limit[];
  prove(world: W): Promise<void>;
}

/** A sentence about what lasts: the proof begins, and goes on with what it returns when seconds have passed. */
export interface LastingFact extends Omit<Fact, "prove"> {
  begin(world: World): Promise<() => Promise<void>>;
}

/** A sentence that holds for every node. */
export function fact<W = World>(statement: string, prove: (world: W) => Promise<void>): Fact<W> {
  return { statement, needs: [], prove };
}

/** A sentence that holds unless the adapter declares that its server cannot do one of the things needed. */
export function factNeeding<W = World>(
  needs: Limit | readonly Limit[],
  statement: string,
  prove: (world: W) => Promise<void>,
): Fact<W> {
  return { statement, needs: typeof needs === "string" ? [needs] : needs, prove };
}

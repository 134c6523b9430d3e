import type { SubjectPart } from "./broken-nodes/broken-node.ts";
import type { Limit } from "./settings.ts";
import type { World } from "./world/world.ts";

/** What a subject must have for a sentence to apply: an ability that some servers lack, or an optional part. */
export type Need = Limit | SubjectPart;

/** A sentence, and when it applies. */
export interface Conditions {
  readonly statement: string;
  readonly needs: readonly Need[];
  /** The part without which the sentence applies, if any. */
  readonly lacks?: SubjectPart;
}

/** One sentence of the contract and its proof: the name of a test, and its body. */
export interface Fact<W = World> extends Conditions {
  prove(world: W): Promise<void>;
}

/**
 * A sentence about claims or counters that last: the proof starts, and completes by the returned function seconds
 * later.
 */
export interface LastingFact extends Conditions {
  begin(world: World): Promise<() => Promise<void>>;
}

/** Proofs by the sentences that they prove. */
type Proofs<W> = Readonly<Record<string, Fact<W>["prove"]>>;

/** Returns sentences that hold for every node. */
export function facts<W = World>(proofs: Proofs<W>): readonly Fact<W>[] {
  return factsNeeding([], proofs);
}

/** Returns sentences that hold for nodes that have what they need. */
export function factsNeeding<W = World>(needs: readonly Need[], proofs: Proofs<W>): readonly Fact<W>[] {
  return Object.entries(proofs).map(([statement, prove]) => ({ statement, needs, prove }));
}

/** Returns sentences that hold for nodes that lack an optional part. */
export function factsWithout(lacks: SubjectPart, proofs: Proofs<World>): readonly Fact[] {
  return facts(proofs).map((fact) => ({ ...fact, lacks }));
}

/** Returns sentences about claims or counters that last, for nodes that have what they need. */
export function lastingFactsNeeding(
  needs: readonly Need[],
  proofs: Readonly<Record<string, LastingFact["begin"]>>,
): readonly LastingFact[] {
  return Object.entries(proofs).map(([statement, begin]) => ({ statement, needs, begin }));
}

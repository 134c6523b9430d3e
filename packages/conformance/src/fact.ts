import type { SubjectPart } from "./broken-nodes/broken-node.ts";
import type { Limit } from "./settings.ts";
import type { World } from "./world/world.ts";

/** What a subject must have for a sentence to apply: an ability that some servers lack, or an optional part. */
export type Need = Limit | SubjectPart;

/** A sentence, and when it applies. */
export interface Conditions {
  readonly statement: string;
  readonly needs: readonly Need[];
}

/** One sentence of the contract and its proof: the name of a test, and its body. */
export interface Fact extends Conditions {
  prove(world: World): Promise<void>;
}

/** Proofs by the sentences that they prove. */
type Proofs = Readonly<Record<string, Fact["prove"]>>;

/** Returns sentences that hold for every node. */
export function facts(proofs: Proofs): readonly Fact[] {
  return factsNeeding([], proofs);
}

/** Returns sentences that hold for nodes that have what they need. */
export function factsNeeding(needs: readonly Need[], proofs: Proofs): readonly Fact[] {
  return Object.entries(proofs).map(([statement, prove]) => ({ statement, needs, prove }));
}

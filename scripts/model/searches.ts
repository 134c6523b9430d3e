/** One search through all states of the model. */
export interface Search {
  /** What it shows, as the report calls it. */
  readonly title: string;
  /** What the model is compiled with. */
  readonly defines: readonly string[];
  /** Whether it takes longer to compile it well than to search it. Default: where a run is to be found. */
  readonly isSmall?: boolean;
  /** Whether the property must hold in every state, or a run must be found that ends in a state where it does not. */
  readonly expects: "holds" | "run";
}

/** The protocol as core has it: what `pnpm model` proves. */
export const proofs: readonly Search[] = [
  { title: "3 nodes, 2 clients", defines: [], expects: "holds" },
  { title: "3 clients that hand over", defines: ["EXCLUSION", "CLIENTS=3"], isSmall: true, expects: "holds" },
];

/** What `pnpm model --long` proves as well. */
export const longProofs: readonly Search[] = [
  { title: "3 nodes, 2 clients, none of them forgotten", defines: ["FORGET=NEVER"], expects: "holds" },
  { title: "3 nodes, 3 clients, 1 proposal", defines: ["CLIENTS=3", "PROPOSALS=1"], expects: "holds" },
  { title: "a resent acquire advances the counter", defines: ["RESEND_ADVANCES"], expects: "holds" },
  { title: "a node that rejoins does not advance", defines: ["REJOIN_WITHOUT_ADVANCE"], expects: "holds" },
];

/** Two locks, one after the other: a model in which nothing ever happens would be safe, too. */
export const example: Search = { title: "two locks, the second by a proposal", defines: ["REACHABLE"], expects: "run" };

/** What must lead to two locks with the same token, or in the wrong order. */
export const variants: readonly Search[] = [
  { title: "the token is the highest fence granted, though only one node may have it", defines: ["NO_AGREEMENT"] },
  { title: "a raise is accepted although the counter is already higher", defines: ["RAISE_MISTAKEN"] },
  { title: "a claim that has expired is confirmed", defines: ["EXPIRED_CONFIRMED"] },
  { title: "a proposal makes a claim again without advancing the counter", defines: ["CLAIM_RECREATED"] },
  { title: "a grant does not advance the counter", defines: ["GRANT_WITHOUT_ADVANCE"] },
  { title: "a hand-over does not advance the counter", defines: ["TAKEOVER_WITHOUT_ADVANCE"] },
  { title: "a hand-over replaces any owner", defines: ["EXCLUSION", "TAKEOVER_OF_ANY"] },
  { title: "a lock is handed over while its holder relies on it", defines: ["EXCLUSION", "HANDED_OVER_WHILE_HELD"] },
  { title: "a release resets the counter", defines: ["RELEASE_RESETS"] },
  { title: "a node loses its memory", defines: ["NODE_FORGETS"] },
  { title: "two attempts have the same owner", defines: ["SHARED_OWNER"] },
  { title: "one node of three is a quorum", defines: ["QUORUM=1"] },
].map((variant) => ({ ...variant, expects: "run" }));

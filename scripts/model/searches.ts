/** One search through all states of the model. */
export interface Search {
  /** Its title in the report. */
  readonly title: string;
  /** The macros that the model is compiled with. */
  readonly defines: readonly string[];
  /** Whether optimising takes longer than searching. Default: true if a run is expected. */
  readonly isSmall?: boolean;
  /** Whether the property must hold in every state, or the search must find a run that violates it. */
  readonly expects: "holds" | "run";
}

/** The protocol of core, which `pnpm model` proves. */
export const proofs: readonly Search[] = [
  { title: "3 nodes, 2 clients", defines: [], expects: "holds" },
  {
    title: "3 clients that hand over",
    defines: ["EXCLUSION", "CLIENTS=3"],
    expects: "holds",
  },
];

/** The variants that `pnpm model --long` proves as well. */
export const longProofs: readonly Search[] = [
  { title: "3 nodes, 2 clients, none of them forgotten", defines: ["FORGET=NEVER"], expects: "holds" },
  { title: "3 nodes, 3 clients, 1 proposal", defines: ["CLIENTS=3", "PROPOSALS=1"], expects: "holds" },
  { title: "a resent acquire advances the counter", defines: ["RESEND_ADVANCES"], expects: "holds" },
  {
    title: "a node that an exclusive lock rejoins does not advance",
    defines: ["EXCLUSIVE_REJOIN_WITHOUT_ADVANCE"],
    expects: "holds",
  },
];

/** Two locks, one after the other: shows that the model does something, as one that does nothing would be safe. */
export const example: Search = { title: "two locks, the second by a proposal", defines: ["REACHABLE"], expects: "run" };

/** The variants that must lead to two locks with the same token, in the wrong order, or that exclude each other. */
export const variants: readonly Search[] = [
  { title: "the token is the highest fence granted, though only one node may have it", defines: ["NO_AGREEMENT"] },
  { title: "a raise is accepted although the counter is already higher", defines: ["RAISE_MISTAKEN"] },
  { title: "a claim that has expired is confirmed", defines: ["EXPIRED_CONFIRMED"] },
  { title: "a proposal makes a claim again without advancing the counter", defines: ["CLAIM_RECREATED"] },
  { title: "a grant does not advance the counter", defines: ["GRANT_WITHOUT_ADVANCE"] },
  { title: "a hand-over does not advance the counter", defines: ["TAKEOVER_WITHOUT_ADVANCE"] },
  {
    title: "a shared grant that joins nobody does not advance the counter",
    defines: ["SHARED_WITHOUT_ADVANCE", "SHARED=2"],
  },
  {
    title: "a writer after readers does not advance the counter",
    defines: ["WRITER_AFTER_READERS_WITHOUT_ADVANCE", "SHARED=1"],
  },
  {
    title: "a node that a sharer rejoins alone does not advance",
    defines: ["SHARED_REJOIN_WITHOUT_ADVANCE", "CLIENTS=3", "PROPOSALS=1", "SHARED=5"],
  },
  { title: "a sharer joins a writer", defines: ["SHARES_WITH_WRITER", "SHARED=2"] },
  { title: "a sharer joins a writer that relies on its lock", defines: ["EXCLUSION", "SHARES_WITH_WRITER"] },
  { title: "a hand-over replaces any owner", defines: ["EXCLUSION", "TAKEOVER_OF_ANY"] },
  { title: "a lock is handed over while its holder relies on it", defines: ["EXCLUSION", "HANDED_OVER_WHILE_HELD"] },
  { title: "a release resets the counter", defines: ["RELEASE_RESETS"] },
  { title: "a node loses its memory", defines: ["NODE_FORGETS"] },
  { title: "two attempts have the same owner", defines: ["SHARED_OWNER"] },
  { title: "one node of three is a quorum", defines: ["QUORUM=1"] },
].map((variant) => ({ ...variant, expects: "run" }));

/** One search through all states of the model. */
export interface Search {
  /** Its title in the report. */
  readonly title: string;
  /** The file in `spec/`. Default: `fencing`. Only its runs are told step by step. */
  readonly model?: "fencing" | "heal" | "change" | "transfer";
  /** The macros that the model is compiled with. */
  readonly defines: readonly string[];
  /** Whether optimising takes longer than searching. Default: true if a run is expected. */
  readonly isSmall?: boolean;
  /** The depth at which the search for a short run begins, where smaller ones find none. Default: 120 steps. */
  readonly runDepth?: number;
  /** Whether the property must hold in every state, or the search must find a run that violates it. */
  readonly expects: "holds" | "run";
}

/** Exclusion during a change of servers. Fences do not matter there, so the agreement on a token is left out. */
const exclusion = ["EXCLUSION", "WITHOUT_TOKENS", "SHARED=0", "PROPOSALS=1"];
const shrinking = ["NODES=3", "OLD=7", "NEW=1"];
const growing = ["NODES=3", "OLD=1", "NEW=7"];
const overlapping = ["NODES=4", "OLD=7", "NEW=14"];
/** Tokens of clients that are forgotten once they have a lock. */
const tokens = ["FORGET=HELD", "PROPOSALS=1"];
const exclusiveTokens = [...tokens, "SHARED=0"];

/** The protocol of core, which `pnpm model` proves. */
export const proofs: readonly Search[] = [
  { title: "3 nodes, 2 clients", defines: [], expects: "holds" },
  { title: "locks on several resources, 2 proposals", defines: ["SEVERAL", "PROPOSALS=2"], expects: "holds" },
  {
    title: "3 clients that hand over",
    defines: ["EXCLUSION", "CLIENTS=3"],
    expects: "holds",
  },
  {
    title: "a change from 3 nodes to another: exclusion",
    model: "change",
    defines: exclusion,
    isSmall: true,
    expects: "holds",
  },
  {
    title: "a change from 3 nodes to one of them: exclusion",
    model: "change",
    defines: [...exclusion, ...shrinking],
    isSmall: true,
    expects: "holds",
  },
  {
    title: "a change from 1 node to 3 with it: exclusion",
    model: "change",
    defines: [...exclusion, ...growing],
    isSmall: true,
    expects: "holds",
  },
  {
    title: "a change of one node of 3: exclusion",
    model: "change",
    defines: [...exclusion, ...overlapping],
    expects: "holds",
  },
  {
    title: "a change from 3 nodes to another: tokens",
    model: "change",
    defines: ["WITHOUT_JOINT", ...exclusiveTokens],
    expects: "holds",
  },
  { title: "a node is healed, exclusive locks", model: "heal", defines: ["SHARED=0", "PROPOSALS=1"], expects: "holds" },
  { title: "a lock is handed to another process", model: "transfer", defines: [], expects: "holds" },
];

/** The variants that `pnpm model --long` proves as well. */
export const longProofs: readonly Search[] = [
  { title: "3 nodes, 2 clients, none of them forgotten", defines: ["FORGET=NEVER"], expects: "holds" },
  {
    title: "3 nodes, 2 clients, other resources advance the counters in steps of their own",
    defines: ["AT_ANY_MOMENT"],
    expects: "holds",
  },
  { title: "3 nodes, 3 clients, 1 proposal", defines: ["CLIENTS=3", "PROPOSALS=1"], expects: "holds" },
  { title: "a resent acquire advances the counter", defines: ["RESEND_ADVANCES"], expects: "holds" },
  {
    title: "a node that an exclusive lock rejoins does not advance",
    defines: ["EXCLUSIVE_REJOIN_WITHOUT_ADVANCE"],
    expects: "holds",
  },
  { title: "a node is healed, exclusive and shared locks", model: "heal", defines: ["PROPOSALS=1"], expects: "holds" },
  {
    title: "a change from 3 nodes to another: tokens of exclusive and shared locks",
    model: "change",
    defines: ["WITHOUT_JOINT", ...tokens],
    expects: "holds",
  },
  {
    title: "a change of two nodes of 3: exclusion",
    model: "change",
    defines: [...exclusion, "NODES=5", "OLD=7", "NEW=28"],
    expects: "holds",
  },
];

/** Two locks, one after the other: shows that the model does something, as one that does nothing would be safe. */
export const example: Search = {
  title: "two locks, the second by a proposal",
  defines: ["REACHABLE"],
  runDepth: 200,
  expects: "run",
};

/** The variants that must lead to two locks with the same token, in the wrong order, or that exclude each other. */
export const variants: readonly Search[] = [
  { title: "the token is the highest fence granted, though only one node may have it", defines: ["NO_AGREEMENT"] },
  { title: "a raise is accepted although the counter is already higher", defines: ["RAISE_MISTAKEN"], runDepth: 240 },
  { title: "a claim that has expired is confirmed", defines: ["EXPIRED_CONFIRMED"] },
  { title: "a proposal makes a claim again without advancing the counter", defines: ["CLAIM_RECREATED"] },
  { title: "a grant does not advance the counter", defines: ["GRANT_WITHOUT_ADVANCE"] },
  { title: "a hand-over does not advance the counter", defines: ["TAKEOVER_WITHOUT_ADVANCE"] },
  {
    title: "a grant does not advance a counter that another resource has advanced since the last one",
    defines: ["OTHERS_SUFFICE", "SHARED=0"],
  },
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
    runDepth: 340,
  },
  {
    title: "the highest counter of several resources counts as the counter of each",
    defines: ["SEVERAL", "HIGHEST_TRUSTED"],
  },
  {
    title: "a reply above the proposal confirms this number for several resources",
    defines: ["SEVERAL", "LARGER_TRUSTED", "PROPOSALS=2"],
  },
  { title: "a sharer joins a writer", defines: ["SHARES_WITH_WRITER", "SHARED=2"] },
  { title: "a sharer joins a writer that relies on its lock", defines: ["EXCLUSION", "SHARES_WITH_WRITER"] },
  { title: "a hand-over replaces any owner", defines: ["EXCLUSION", "TAKEOVER_OF_ANY"] },
  { title: "a lock is handed over while its holder relies on it", defines: ["EXCLUSION", "HANDED_OVER_WHILE_HELD"] },
  { title: "a release resets the counter", defines: ["RELEASE_RESETS"] },
  { title: "a node loses its memory", defines: ["NODE_FORGETS"] },
  { title: "two attempts have the same owner", defines: ["SHARED_OWNER"] },
  { title: "one node of three is a quorum", defines: ["QUORUM=1"] },
  ...(
    [
      ["clients of the old and the new set at once, and nodes ignore epochs", ["EPOCH_IGNORED"]],
      ["a change without its first step", ["BEGIN_LEFT_OUT"]],
      ["a joint client needs a majority of all nodes", ["MAJORITY_OF_UNION"]],
      ["too few old nodes refuse older clients", ["RAISED_ON_TOO_FEW"]],
      ["the tool does not wait until older claims have ended", ["WITHOUT_WAITING"]],
      ["the tool looks for older claims node by node", ["SCANNED_ONE_BY_ONE"]],
      ["clients of the new set are served before the floor is written", ["SERVED_BEFORE_FLOOR"]],
      ["old nodes serve clients of the new set too early", ["OPENED_TOO_EARLY", ...shrinking]],
    ] as const
  ).map(([title, defines]) => ({ title, model: "change" as const, defines: [...exclusion, ...defines] })),
  ...(
    [
      ["a change without a floor", ["NO_FLOOR"]],
      ["the floor of a change is from one node", ["FLOOR_FROM_ONE_NODE"]],
      ["the floor of a change is read before older attempts have ended", ["WITHOUT_WAITING"]],
    ] as const
  ).map(([title, defines]) => ({
    title,
    model: "change" as const,
    defines: ["OLD_FIRST", ...exclusiveTokens, ...defines],
  })),
  ...(
    [
      ["a healed node has no floor", ["NO_FLOOR", "SHARED=0"]],
      ["the floor of a healed node is from too few nodes", ["READS=1", "SHARED=0"]],
      ["the floor is read before attempts in progress have ended", ["READ_TOO_EARLY", "SHARED=0"]],
      ["the floor is read before the loss", ["READ_BEFORE_LOSS", "SHARED=0"]],
      ["only missing counters obey the floor", ["FLOOR_FOR_MISSING_COUNTERS", "SHARED=0"]],
      ["a sharer that joins ignores the floor", ["JOINER_IGNORES_FLOOR", "SHARED=2"]],
      ["the floor is the highest fence, not above it", ["FLOOR_IS_HIGHEST", "SHARED=2"]],
    ] as const
  ).map(([title, defines]) => ({
    title,
    model: "heal" as const,
    defines: ["HEALED_BETWEEN", ...tokens, ...defines],
  })),
  ...(
    [
      ["the ticket is the owner of the lock, as where processes share it", "OWNER_KEPT"],
      ["a ticket is adopted without a guard", "NO_GUARD"],
      ["an adopter does not notice the end of its guard", "GUARD_NOT_TIMED"],
      ["a failed takeover releases the guard", "GUARD_RELEASED"],
      ["the takeover does not ask first whether the ticket is held", "NO_CHECK"],
      ["the ticket may end between the question and the takeover", "CHECK_TOO_SHORT"],
    ] as const
  ).map(([title, define]) => ({ title, model: "transfer" as const, defines: [define] })),
].map((variant) => ({ ...variant, expects: "run" }));

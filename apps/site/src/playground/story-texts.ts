/** The texts of the stories. Only the worker needs their scenarios. */

/** What the page says of a story. */
export interface StoryText {
  /** Its name in the address of the page. */
  readonly id: string;
  readonly title: string;
  /** The story in one sentence, beside its title. */
  readonly line: string;
}

const texts: readonly (readonly [id: string, title: string, line: string])[] = [
  ["pause", "A pause past the ttl", "Client 1 sleeps through the end of its lock, and then writes."],
  ["late-write", "A write that arrives late", "Nobody sleeps, but the network keeps a write for two seconds."],
  [
    "late-write-between",
    "A late write between a read and a write",
    "A storage that checks only writes loses an update.",
  ],
  [
    "guarded-table",
    "A statement that forgets the token",
    "One client shows no token, and only a guarded table notices.",
  ],
  ["node-clock", "The clock of a node jumps", "Node C takes a claim for expired, and grants the lock again."],
  ["client-clock", "The clock of a client is set back", "The lock ends in time, and the next token is still higher."],
  ["lost-reply", "Lost replies", "Client 1 has the votes, and cannot know."],
  ["restart", "A restart without memory", "Node C forgets a claim, and grants the lock again."],
  ["restart-guard", "A restart without memory, with a guard", "Node C does not vote until what it forgot has expired."],
  ["split-vote", "A split vote", "Three clients ask at once, and nobody has a majority."],
  ["rolling-restart", "A rolling restart", "The nodes restart one by one, and the clients go on."],
  ["free", "Free play", "Two clients take turns. Stop where you like, and break something with a button “Faults”."],
];

/** The stories of the playground, in their order on the page. */
export const storyTexts: readonly StoryText[] = texts.map(([id, title, line]) => ({ id, title, line }));

/** The texts of the stories. Only the worker needs their scenarios. */

/** What the page says of a story. */
export interface StoryText {
  /** Its name in the address of the page. */
  readonly id: string;
  readonly title: string;
  /** The story in one sentence, beside its title. */
  readonly line: string;
}

/** The stories of the playground, in their order on the page. */
export const storyTexts: readonly StoryText[] = [
  {
    id: "pause",
    title: "A pause past the ttl",
    line: "Client 1 sleeps through the end of its lock, and then writes.",
  },
  {
    id: "late-write",
    title: "A write that arrives late",
    line: "Nobody sleeps, but the network keeps a write for two seconds.",
  },
  {
    id: "late-write-between",
    title: "A late write between a read and a write",
    line: "A storage that checks only writes loses an update.",
  },
  {
    id: "guarded-table",
    title: "A statement that forgets the token",
    line: "One client shows no token, and only a guarded table notices.",
  },
  {
    id: "node-clock",
    title: "The clock of a node jumps",
    line: "Node C takes a claim for expired, and grants the lock again.",
  },
  {
    id: "client-clock",
    title: "The clock of a client is set back",
    line: "The lock ends in time, and the next token is still higher.",
  },
  {
    id: "lost-reply",
    title: "Lost replies",
    line: "Client 1 has the votes, and cannot know.",
  },
  {
    id: "restart",
    title: "A restart without memory",
    line: "Node C forgets a claim, and grants the lock again.",
  },
  {
    id: "restart-guard",
    title: "A restart without memory, with a guard",
    line: "Node C does not vote until what it forgot has expired.",
  },
  {
    id: "split-vote",
    title: "A split vote",
    line: "Three clients ask at once, and nobody has a majority.",
  },
  {
    id: "rolling-restart",
    title: "A rolling restart",
    line: "The nodes restart one by one, and the clients go on.",
  },
  {
    id: "free",
    title: "Free play",
    line: "Two clients take turns. Stop where you like, and break something with a button “Faults”.",
  },
];

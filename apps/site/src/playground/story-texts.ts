/** The texts of the stories. Only the worker needs their scenarios. */

/** What the page says of a story. */
export interface StoryText {
  /** Its name in the address of the page. */
  readonly id: string;
  readonly title: string;
  /** What to watch. */
  readonly watch: string;
}

/** The stories of the playground, in the order of their buttons. */
export const storyTexts: readonly StoryText[] = [
  {
    id: "pause",
    title: "A pause past the ttl",
    watch:
      "Client 1 checks its lock, and is paused before it writes. Watch its claims expire, client 2 get the lock, and the late " +
      "write: only the storages that check tokens refuse it.",
  },
  {
    id: "late-write",
    title: "A write that arrives late",
    watch:
      "Nobody is paused, and the locks do not overlap. The network delays the write of client 1 by two seconds, and the storage " +
      "that checks nothing loses the update of client 2.",
  },
  {
    id: "late-write-between",
    title: "A late write between a read and a write",
    watch:
      "The late write of client 1 arrives after client 2 has read, and before it writes. A storage that checks only writes loses " +
      "it: reads must show the token, too.",
  },
  {
    id: "guarded-table",
    title: "A statement that forgets the token",
    watch:
      "Client 1 is paused past its ttl, and its late write shows no token. Where statements check tokens, one without a check " +
      "loses the update of client 2. The guarded table refuses it.",
  },
  {
    id: "node-clock",
    title: "The clock of a node jumps",
    watch:
      "The clock of node C jumps forward, and C considers the claim of client 1 expired. Both clients hold the lock, and the " +
      "token of client 2 is larger.",
  },
  {
    id: "client-clock",
    title: "The clock of a client is set back",
    watch:
      "The clock of client 1 is set back by ten seconds while it holds the lock. It also measures time by its monotonic clock, so " +
      "its lock ends no later. Its next token is still larger than all before.",
  },
  {
    id: "lost-reply",
    title: "Lost replies",
    watch:
      "All five nodes grant the lock to client 1, and the replies of three are lost. Client 1 cannot know, gives up the attempt, " +
      "frees its claims, and gets the lock in another attempt.",
  },
  {
    id: "restart",
    title: "A restart without memory",
    watch:
      "Node C forgets the claim of client 1, and grants the lock to client 2. Both hold it. Only the storages that check tokens " +
      "keep every update.",
  },
  {
    id: "restart-guard",
    title: "A restart without memory, with a guard",
    watch:
      "The same crash, but node C does not vote until all claims that it may have forgotten have expired. Client 2 waits, and the " +
      "two locks do not overlap.",
  },
  {
    id: "split-vote",
    title: "A split vote",
    watch:
      "Three clients ask at the same moment. Two get two votes each and one gets one: nobody has a majority. Each frees its claims " +
      "and tries again after a random delay.",
  },
  {
    id: "rolling-restart",
    title: "A rolling restart",
    watch:
      "The nodes restart one after another, and keep their memory. Four of five are a majority, so the clients take turns all the " +
      "time. A node that was down keeps claims that have been released, until their ttl ends: the next node stops after that.",
  },
];

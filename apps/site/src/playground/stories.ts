import {
  type Checker,
  type CritiquedCase,
  critique,
  type Fault,
  type Operation,
  type Scenario,
  type StorageKind,
} from "@holdfast/simulation";

/** A story of the playground: a scenario that shows one thing. */
export interface Story {
  /** Its name in the address of the page. */
  readonly id: string;
  readonly title: string;
  /** What to watch. */
  readonly watch: string;
  readonly scenario: Scenario;
  /** How it ends, which a test checks. */
  readonly end: StoryEnd;
}

/** How a story ends. */
export interface StoryEnd {
  /** The checkers that find a violation. */
  readonly violated: readonly Checker[];
  /** The kinds of storage that lose an update. */
  readonly losers: readonly StorageKind[];
  /** How many locks clients get. */
  readonly locks: number;
}

/** Returns the case of the critique with this title. */
function caseOf(title: string): Pick<CritiquedCase, "scenario" | "violated" | "losers"> {
  const found = critique.find((each) => each.title === title);
  if (found === undefined) throw new Error(`the critique has no case "${title}"`);
  return found;
}

/** Tells a case of the critique as a story. */
function critiqued(id: string, title: string, watch: string, caseTitle: string, locks = 2): Story {
  const { scenario, violated, losers } = caseOf(caseTitle);
  return { id, title, watch, scenario, end: { violated, losers, locks } };
}

/** A story of which the simulation has no case. All its updates survive, and no promise is violated. */
function told(id: string, title: string, watch: string, scenario: Scenario, locks: number): Story {
  return { id, title, watch, scenario, end: { violated: [], losers: [], locks } };
}

/** Locks `file`, reads, thinks and writes. */
function update(operation: Partial<Operation>): Operation {
  return { by: "acquire", resources: ["file"], ...operation };
}

/** A scenario in which each client has one worker. Each message takes 2 ms. */
function scene(workers: readonly (readonly Operation[])[], faults: readonly Fault[]): Scenario {
  const clients = workers.map((operations, index) => ({ name: `client ${index + 1}`, workers: [operations] }));
  return { clients, faults, settings: { ttlMs: 1000, latencyMs: [2, 2] } };
}

/** The replies of these nodes to the first request of client 1 are lost. */
function lostReplies(nodes: string): Fault[] {
  return [...nodes].map((node) => ({ kind: "lost message", client: "client 1", node, message: 1, part: "reply" }));
}

/** The first request of a client reaches these nodes late. */
function lateRequests(client: string, nodes: string): Fault[] {
  return [...nodes].map((node) => ({ kind: "late message", client, node, message: 1, part: "request", byMs: 5 }));
}

/** Nodes restart one after another. Each keeps its memory, and is down for 150 ms. */
function rollingRestart(nodes: string): Fault[] {
  return [...nodes].map((node, index) => {
    return { kind: "node crash", node, atMs: 200 + 500 * index, forMs: 150, memory: "kept", isSilent: false };
  });
}

const restart = caseOf("Node C crashes, and restarts at once without its memory");

/** The stories of the playground, in the order of its buttons. */
export const stories: readonly Story[] = [
  critiqued(
    "pause",
    "A pause past the ttl",
    "Client 1 checks its lock, and is paused before it writes. Watch its claims expire, client 2 get the lock, and the late " +
      "write: only the storages that check tokens refuse it.",
    "A client is paused after the check, and before the write",
  ),
  critiqued(
    "late-write",
    "A write that arrives late",
    "Nobody is paused, and the locks do not overlap. The network delays the write of client 1 by two seconds, and the storage " +
      "that checks nothing loses the update of client 2.",
    "A write that is delayed past the ttl",
  ),
  critiqued(
    "late-write-between",
    "A late write between a read and a write",
    "The late write of client 1 arrives after client 2 has read, and before it writes. A storage that checks only writes loses " +
      "it: reads must show the token, too.",
    "A late write, between the read and the write of the next holder",
  ),
  critiqued(
    "node-clock",
    "The clock of a node jumps",
    "The clock of node C jumps forward, and C considers the claim of client 1 expired. Both clients hold the lock, and the " +
      "token of client 2 is larger.",
    "The clock of node C jumps forward",
  ),
  told(
    "client-clock",
    "The clock of a client is set back",
    "The clock of client 1 is set back by ten seconds while it holds the lock. It also measures time by its monotonic clock, so " +
      "its lock ends no later. Its next token is still larger than all before.",
    scene(
      [[update({ thinkMs: 300 }), update({ afterMs: 400 })], [update({ afterMs: 350, thinkMs: 200 })]],
      [{ kind: "clock jump", of: "client 1", atMs: 100, byMs: -10_000 }],
    ),
    3,
  ),
  told(
    "lost-reply",
    "Lost replies",
    "All five nodes grant the lock to client 1, and the replies of three are lost. Client 1 cannot know, gives up the attempt, " +
      "frees its claims, and gets the lock in another attempt.",
    scene([[update({ thinkMs: 100 })], [update({ afterMs: 30, thinkMs: 100 })]], lostReplies("CDE")),
    2,
  ),
  critiqued(
    "restart",
    "A restart without memory",
    "Node C forgets the claim of client 1, and grants the lock to client 2. Both hold it. Only the storages that check tokens " +
      "keep every update.",
    "Node C crashes, and restarts at once without its memory",
  ),
  told(
    "restart-guard",
    "A restart without memory, with a guard",
    "The same crash, but node C does not vote until all claims that it may have forgotten have expired. Client 2 waits, and the " +
      "two locks do not overlap.",
    {
      ...restart.scenario,
      faults: (restart.scenario.faults ?? []).map((fault) =>
        fault.kind === "node crash" ? { ...fault, guardMs: 1000 } : fault,
      ),
    },
    2,
  ),
  told(
    "split-vote",
    "A split vote",
    "Three clients ask at the same moment. Two get two votes each and one gets one: nobody has a majority. Each frees its claims " +
      "and tries again after a random delay.",
    scene(
      [[update({ thinkMs: 50 })], [update({ thinkMs: 50 })], [update({ thinkMs: 50 })]],
      [...lateRequests("client 1", "CDE"), ...lateRequests("client 2", "ABE"), ...lateRequests("client 3", "ABCD")],
    ),
    3,
  ),
  told(
    "rolling-restart",
    "A rolling restart",
    "The nodes restart one after another, and keep their memory. Four of five are a majority, so the clients take turns all the " +
      "time. A node that was down keeps claims that have been released, until their ttl ends: the next node stops after that.",
    scene(
      [1, 2].map(() => Array.from({ length: 6 }, () => update({ afterMs: 20, thinkMs: 200, ttlMs: 400 }))),
      rollingRestart("ABCDE"),
    ),
    12,
  ),
];

import {
  type Checker,
  type CritiqueName,
  critiqueScenarios,
  type Fault,
  type Operation,
  type Scenario,
  type StorageKind,
} from "@holdfast/simulation";

/** A story of the playground: a scenario that shows one thing. The page has its texts, and the worker does not need them. */
export interface Story {
  /** Its name in the address of the page. */
  readonly id: string;
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

/** Tells a case of the critique as a story. */
function critiqued(id: string, name: CritiqueName, locks = 2): Story {
  const { scenario, violated, losers } = critiqueScenarios[name];
  return { id, scenario, end: { violated, losers, locks } };
}

/** A story of which the simulation has no case. Unless said otherwise, all updates survive, and no promise is violated. */
function told(id: string, scenario: Scenario, locks: number, end: Partial<StoryEnd> = {}): Story {
  return { id, scenario, end: { violated: [], losers: [], locks, ...end } };
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

const restart = critiqueScenarios["node restart"];

/** The stories of the playground, in their order on the page. */
export const stories: readonly Story[] = [
  critiqued("pause", "pause before writing"),
  critiqued("late-write", "late write"),
  critiqued("late-write-between", "late write between"),
  told(
    "guarded-table",
    scene(
      [[update({ thinkMs: 100, forgetsToken: true })], [update({ afterMs: 50, thinkMs: 100 })]],
      [{ kind: "pause before acting", client: "client 1", atMs: 50, forMs: 2000 }],
    ),
    2,
    { violated: ["mutual exclusion"], losers: ["checks all", "checks writes", "checks nothing"] },
  ),
  critiqued("node-clock", "node clock"),
  told(
    "client-clock",
    scene(
      [[update({ thinkMs: 300 }), update({ afterMs: 400 })], [update({ afterMs: 350, thinkMs: 200 })]],
      [{ kind: "clock jump", of: "client 1", atMs: 100, byMs: -10_000 }],
    ),
    3,
  ),
  told(
    "lost-reply",
    scene([[update({ thinkMs: 100 })], [update({ afterMs: 30, thinkMs: 100 })]], lostReplies("CDE")),
    2,
  ),
  critiqued("restart", "node restart"),
  told(
    "restart-guard",
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
    scene(
      [[update({ thinkMs: 50 })], [update({ thinkMs: 50 })], [update({ thinkMs: 50 })]],
      [...lateRequests("client 1", "CDE"), ...lateRequests("client 2", "ABE"), ...lateRequests("client 3", "ABCD")],
    ),
    3,
  ),
  told(
    "rolling-restart",
    scene(
      [1, 2].map(() => Array.from({ length: 6 }, () => update({ afterMs: 20, thinkMs: 200, ttlMs: 400 }))),
      rollingRestart("ABCDE"),
    ),
    12,
  ),
];

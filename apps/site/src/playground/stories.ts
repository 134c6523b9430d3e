import { critiqueScenarios, type Fault, type Operation, type Scenario } from "@holdfast/simulation";

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

/**
 * The stories of the playground, by their names in the address of the page, in their order there: scenarios that show one
 * thing each. The page has their texts, which the worker does not need.
 */
export const stories: Readonly<Record<string, Scenario>> = {
  pause: critiqueScenarios["pause before writing"],
  "late-write": critiqueScenarios["late write"],
  "late-write-between": critiqueScenarios["late write between"],
  "guarded-table": scene(
    [[update({ thinkMs: 100, forgetsToken: true })], [update({ afterMs: 50, thinkMs: 100 })]],
    [{ kind: "pause before acting", client: "client 1", atMs: 50, forMs: 2000 }],
  ),
  "node-clock": critiqueScenarios["node clock"],
  "client-clock": scene(
    [[update({ thinkMs: 300 }), update({ afterMs: 400 })], [update({ afterMs: 350, thinkMs: 200 })]],
    [{ kind: "clock jump", of: "client 1", atMs: 100, byMs: -10_000 }],
  ),
  "lost-reply": scene([[update({ thinkMs: 100 })], [update({ afterMs: 30, thinkMs: 100 })]], lostReplies("CDE")),
  restart,
  "restart-guard": {
    ...restart,
    faults: (restart.faults ?? []).map((fault) => (fault.kind === "node crash" ? { ...fault, guardMs: 1000 } : fault)),
  },
  "split-vote": scene(
    [[update({ thinkMs: 50 })], [update({ thinkMs: 50 })], [update({ thinkMs: 50 })]],
    [...lateRequests("client 1", "CDE"), ...lateRequests("client 2", "ABE"), ...lateRequests("client 3", "ABCD")],
  ),
  "rolling-restart": scene(
    [1, 2].map(() => Array.from({ length: 6 }, () => update({ afterMs: 20, thinkMs: 200, ttlMs: 400 }))),
    rollingRestart("ABCDE"),
  ),
  free: scene(
    [1, 2].map(() => Array.from({ length: 18 }, () => update({ afterMs: 10, thinkMs: 100, waitTimeoutMs: 3000 }))),
    [],
  ),
};

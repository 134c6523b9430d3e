import type { Fault, Scenario } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { describeMoment } from "../../src/playground/cards.ts";
import { type Moment, momentAt, steps } from "../../src/playground/moment.ts";
import { traceOf } from "../support/runs.ts";

function alone(...faults: readonly Fault[]): Scenario {
  const work = [{ by: "acquire" as const, resources: ["file"], thinkMs: 300 }];
  return { nodes: 3, clients: [{ name: "client 1", workers: [work] }], faults, settings: { latencyMs: [2, 2] } };
}

const pause: Fault = { kind: "pause", client: "client 1", atMs: 3, forMs: 50, step: 0 };
const forgets = { kind: "node crash", node: "C", forMs: 10, memory: "lost", isSilent: false } as const;

/** A scenario or story, and what its picture shows at some moments, in part. */
const pictures: Readonly<Record<string, readonly [Scenario | string, Readonly<Record<number, object>>]>> = {
  "requests and replies on their way, and how far they are": [
    alone(),
    {
      0.5: { messages: ["A", "B", "C"].map((to) => ({ to, part: "request", progress: 0.25 })) },
      3: { messages: ["A", "B", "C"].map((from) => ({ from, outcome: "granted", progress: 0.5 })) },
    },
  ],
  "a client that waits for its lock, and then what it believes beside the truth": [
    alone(),
    {
      3: { clients: [{ state: "runs", waits: true, lock: undefined, claims: 3 }] },
      104: { clients: [{ waits: false, lock: { remainingMs: near(884), isKept: true, rivals: [] }, claims: 3 }] },
      1e6: { clients: [{ waits: false, lock: undefined, claims: 0 }] },
    },
  ],
  "the claim and the counter of nodes": [
    alone(),
    { 252: { nodes: Array(3).fill({ state: "up", claim: { client: "client 1", remainingMs: 750 }, counter: 1 }) } },
  ],
  "messages that a paused client has not read": [
    alone(pause),
    {
      1: { clients: [{ state: "runs", unread: 0 }] },
      10: { clients: [{ state: "paused", unread: 3 }] },
      60: { clients: [{ state: "runs", unread: 0 }] },
    },
  ],
  "a paused client whose lock another has": [
    "#story=pause",
    {
      1060: {
        clients: [
          { state: "paused", claims: 0, lock: { remainingMs: 0, isKept: false, rivals: ["client 2"] } },
          { state: "runs", claims: 5, lock: { isKept: true, rivals: ["client 1"] } },
        ],
      },
    },
  ],
  "the lost updates and the refusals of each storage": [
    "#story=pause",
    {
      0: { storages: Array(2).fill({ updates: 0, writer: undefined }) },
      1e6: {
        storages: [
          { kind: "checks nothing", updates: 2, lostUpdates: 1, refusals: 0, value: 1, writer: "client 1" },
          { kind: "checks all", updates: 1, lostUpdates: 0, refusals: 1, value: 1, writer: "client 2" },
        ],
      },
    },
  ],
  "nodes that are down or guarded, and the clients whose messages are lost": [
    "#story=restart-guard",
    {
      29: { nodes: [{}, {}, { state: "up" }, { cutFrom: ["client 1"] }, {}] },
      30.5: { nodes: [{}, {}, { state: "down" }, {}, {}] },
      500: { nodes: [{}, {}, { state: "guarded", claim: undefined, counter: 0, cutFrom: [] }, {}, {}] },
      1032: { nodes: [{}, {}, { state: "up" }, {}, {}] },
    },
  ],
  "the last guard of a node that loses its memory twice": [
    alone({ ...forgets, atMs: 50, guardMs: 5000 }, { ...forgets, atMs: 100 }),
    {
      70: { nodes: [{}, {}, { state: "guarded" }] },
      105: { nodes: [{}, {}, { state: "down" }] },
      120: { nodes: [{}, {}, { state: "up" }] },
    },
  ],
  "whether as many nodes keep a claim as a lock needs": [
    { ...alone({ ...forgets, atMs: 100 }), settings: { latencyMs: [2, 2], quorum: 3 } },
    {
      99: { clients: [{ claims: 3, lock: { isKept: true } }] },
      150: { clients: [{ claims: 2, lock: { isKept: false } }] },
    },
  ],
  "wrong clocks": [
    "#story=client-clock",
    {
      99: { clients: [{ clockAheadMs: 0 }, { clockAheadMs: 0 }] },
      101: { clients: [{ clockAheadMs: -10_000 }, { clockAheadMs: 0 }] },
    },
  ],
  "no pause of a client that has crashed, and its claims until they expire": [
    alone(pause, { kind: "client crash", client: "client 1", atMs: 20 }),
    {
      10: { clients: [{ state: "paused", unread: 3 }] },
      30: { clients: [{ state: "crashed", lock: undefined, claims: 3, unread: 0 }] },
    },
  ],
};

function near(ms: number): number {
  return expect.closeTo(ms, 6);
}

describe("momentAt()", () => {
  it.each(Object.entries(pictures))("momentAt() shows %s", async (_what, [scenario, moments]) => {
    const trace = await traceOf(scenario);
    for (const [atMs, wanted] of Object.entries(moments))
      expect(momentAt(trace, Math.min(Number(atMs), trace.endedAtMs)), `at ${atMs} ms`).toMatchObject(wanted);
  });
});

describe("steps()", () => {
  it("steps() are sorted, differ, and begin and end with the run", async () => {
    const trace = await traceOf(alone());
    const all = steps(trace);
    expect(all).toEqual([...new Set(all)].sort((a, b) => a - b));
    expect([all[0], all.at(-1)]).toEqual([0, trace.endedAtMs]);
    expect(all.slice(0, 3)).toEqual([0, 2, 4]);
  });

  it("steps() leave out no change of the picture", async () => {
    const trace = await traceOf("#story=pause");
    const stateAt = (atMs: number): unknown => {
      const { nodes, clients, storages, messages } = momentAt(trace, atMs);
      return {
        nodes: nodes.map(({ state, claim }) => [state, claim?.client]),
        clients: clients.map(({ state, unread, claims, lock }) => [state, unread, claims, lock?.fence]),
        messages: messages.map(({ id }) => id),
        storages,
      };
    };
    const all = steps(trace);
    for (const [index, fromMs] of all.slice(0, -1).entries()) {
      const untilMs = all[index + 1] ?? fromMs;
      expect(stateAt(fromMs + (untilMs - fromMs) * 0.99)).toEqual(stateAt(fromMs));
    }
  });
});

describe("describeMoment()", () => {
  it("describeMoment() tells each client's view beside the truth", async () => {
    const trace = await traceOf("#story=pause");
    const moment = momentAt(trace, (trace.leases[1]?.fromMs ?? 0) + 20);
    const [one, two] = trace.leases.map(({ fence }) => fence);
    expect(describeMoment(moment)).toBe(
      `At ${Math.round(moment.atMs)} milliseconds. ` +
        `Client 1, paused. Believes: holds, token ${one}, 0 ms left. Truth: claim on 0 of 5 nodes. Wrong: the lock is lost. ` +
        `Client 2, runs. Believes: holds, token ${two}, 964 ms left. Truth: claim on 5 of 5 nodes. ` +
        "Not alone: client 1 believes it, too.",
    );
    const end = describeMoment(momentAt(trace, trace.endedAtMs));
    expect(end).toContain("Client 1, runs. Believes: has no lock. Truth: no claim. ");
    expect(end).toMatch(/ Without fencing: 1 update lost\.$/);
  });

  it("describeMoment() names all rivals", async () => {
    const moment: Moment = momentAt(await traceOf(alone()), 104);
    const rivals = ["client 2", "client 3", "client 4"];
    const clients = moment.clients.map((client) => ({ ...client, lock: client.lock && { ...client.lock, rivals } }));
    expect(describeMoment({ ...moment, clients })).toContain(
      "Not alone: client 2, client 3 and client 4 believe it, too.",
    );
  });

  it.each([
    ["lost-reply", 3, "Client 1, runs. Believes: waits for the lock. Truth: claim on 5 of 5 nodes."],
    ["restart-guard", 500, "Node C, no vote."],
    ["node-clock", 100, "Node C, up, 1000 ms ahead."],
  ])("describeMoment() describes clients, nodes and clocks: %s", async (story, atMs, text) => {
    expect(describeMoment(momentAt(await traceOf(`#story=${story}`), atMs))).toContain(text);
  });
});

import type { Fault, Scenario } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { describeMoment } from "../../src/playground/cards.ts";
import { type ClientMoment, type LockMoment, type Moment, momentAt, steps } from "../../src/playground/moment.ts";
import { traceOf } from "../support/runs.ts";

function clientOf(moment: Moment, number: number): ClientMoment {
  const client = moment.clients[number - 1];
  if (client === undefined) throw new Error(`there is no client ${number}`);
  return client;
}

function alone(faults: readonly Fault[] = []): Scenario {
  const work = [{ by: "acquire" as const, resources: ["file"], thinkMs: 300 }];
  return { nodes: 3, clients: [{ name: "client 1", workers: [work] }], faults, settings: { latencyMs: [2, 2] } };
}

describe("momentAt()", () => {
  it("momentAt() shows requests and replies on their way, and how far they are", async () => {
    const trace = await traceOf(alone());
    const [there, back] = [momentAt(trace, 0.5).messages, momentAt(trace, 3).messages];
    expect(there).toMatchObject(["A", "B", "C"].map((to) => ({ to, part: "request", progress: 0.25 })));
    expect(back).toMatchObject(["A", "B", "C"].map((from) => ({ from, outcome: "granted", progress: 0.5 })));
  });

  it("momentAt() shows a client that waits for its lock, and then what it believes beside the truth", async () => {
    const trace = await traceOf(alone());
    expect(clientOf(momentAt(trace, 3), 1)).toMatchObject({ state: "waiting", waitsFor: ["file"], locks: [] });
    const { state, locks } = clientOf(momentAt(trace, 104), 1);
    expect(state).toBe("holding");
    expect(locks).toMatchObject([{ attempt: "1.1", nodes: ["A", "B", "C"], hasMajority: true, rivals: [] }]);
    expect(locks[0]?.remainingMs).toBeCloseTo(884, 6);
    expect(clientOf(momentAt(trace, trace.endedAtMs), 1).state).toBe("idle");
  });

  it("momentAt() shows the claims of nodes, and how long they last", async () => {
    const trace = await traceOf(alone());
    const [node] = momentAt(trace, 502 - 250).nodes;
    expect(node).toMatchObject({ name: "A", state: "up", claims: [{ attempt: "1.1", remainingMs: 750 }] });
    expect(node?.counters).toEqual([{ resource: "file", counter: 1 }]);
  });

  it("momentAt() shows a paused client whose lock another has, and messages that it has not read", async () => {
    const trace = await traceOf("#story=pause");
    const paused = trace.pauses[0];
    const second = trace.leases[1];
    const moment = momentAt(trace, (second?.fromMs ?? 0) + 20);
    expect(clientOf(moment, 1)).toMatchObject({ state: "holding", pausedUntilMs: paused?.untilMs });
    expect(clientOf(moment, 1).locks).toMatchObject([
      { remainingMs: 0, nodes: [], hasMajority: false, rivals: ["client 2"] },
    ]);
    expect(clientOf(moment, 2).locks).toMatchObject([{ hasMajority: true, rivals: ["client 1"] }]);
    const early = await traceOf(alone([{ kind: "pause", client: "client 1", atMs: 3, forMs: 50, step: 0 }]));
    expect([1, 10, 60].map((atMs) => clientOf(momentAt(early, atMs), 1).unread)).toEqual([0, 3, 0]);
  });

  it("momentAt() counts lost updates and refusals of each storage", async () => {
    const trace = await traceOf("#story=pause");
    const { storages } = momentAt(trace, trace.endedAtMs);
    expect(storages).toMatchObject([
      { kind: "checks nothing", updates: 2, lostUpdates: 1, refusals: 0, values: [{ value: 1, writtenBy: "1.1" }] },
      { kind: "checks all", updates: 1, lostUpdates: 0, refusals: 1, values: [{ value: 1 }] },
    ]);
    expect(momentAt(trace, 0).storages).toMatchObject(Array(2).fill({ updates: 0 }));
  });

  it("momentAt() shows nodes that are down or guarded, cut links and wrong clocks", async () => {
    const guarded = await traceOf("#story=restart-guard");
    const states = [29, 30.5, 500, 1032].map((atMs) => momentAt(guarded, atMs).nodes[2]?.state);
    expect(states).toEqual(["up", "down", "guarded", "up"]);
    expect(momentAt(guarded, 500).nodes[2]).toMatchObject({ claims: [], counters: [] });
    expect(momentAt(guarded, 500).cuts).toContainEqual({ client: "client 1", node: "D", part: "both" });
    const clock = await traceOf("#story=client-clock");
    expect([99, 101].map((atMs) => clientOf(momentAt(clock, atMs), 1).clockAheadMs)).toEqual([0, -10_000]);
  });

  it("momentAt() counts votes in the sets of nodes of which a lock needs a quorum", async () => {
    const forgets: Fault = { kind: "node crash", node: "C", atMs: 100, forMs: 1, memory: "lost", isSilent: false };
    const majority = await traceOf(alone([forgets]));
    const all = await traceOf({ ...alone([forgets]), settings: { latencyMs: [2, 2], quorum: 3 } });
    const verdicts = [majority, all].map((trace) => clientOf(momentAt(trace, 150), 1).locks[0]);
    expect(verdicts).toMatchObject([
      { nodes: ["A", "B"], hasMajority: true },
      { nodes: ["A", "B"], hasMajority: false },
    ]);
  });

  it("momentAt() shows the last guard of a node that loses its memory twice", async () => {
    const crash = { kind: "node crash", node: "C", forMs: 10, memory: "lost", isSilent: false } as const;
    const trace = await traceOf(
      alone([
        { ...crash, atMs: 50, guardMs: 5000 },
        { ...crash, atMs: 100 },
      ]),
    );
    const seen = [70, 105, 120].map((atMs) => momentAt(trace, atMs).nodes[2]);
    expect(seen).toMatchObject([{ state: "guarded" }, { state: "down" }, { state: "up" }]);
  });

  it("momentAt() shows one cut of a link that two partitions cut", async () => {
    const cut = { kind: "partition", clients: ["client 1"], nodes: ["A"], atMs: 10 } as const;
    const trace = await traceOf(
      alone([
        { ...cut, part: "requests", forMs: 50 },
        { ...cut, part: "replies", forMs: 100 },
      ]),
    );
    const parts = [20, 80].map((atMs) => momentAt(trace, atMs).cuts);
    expect(parts).toEqual([
      [{ client: "client 1", node: "A", part: "both" }],
      [{ client: "client 1", node: "A", part: "replies" }],
    ]);
  });

  it("momentAt() shows no pause of a client that has crashed, and what it had not read before", async () => {
    const pause: Fault = { kind: "pause", client: "client 1", atMs: 3, forMs: 50, step: 0 };
    const trace = await traceOf(alone([pause, { kind: "client crash", client: "client 1", atMs: 20 }]));
    const seen = [10, 30].map((atMs) => clientOf(momentAt(trace, atMs), 1));
    expect(seen).toMatchObject([
      { state: "waiting", pausedUntilMs: 53, unread: 3 },
      { state: "crashed", pausedUntilMs: undefined, unread: 0 },
    ]);
  });

  it("momentAt() shows a crashed client, and its claims until they expire", async () => {
    const trace = await traceOf(alone([{ kind: "client crash", client: "client 1", atMs: 100 }]));
    const moment = momentAt(trace, trace.endedAtMs);
    expect(clientOf(moment, 1)).toMatchObject({ state: "crashed", locks: [], unread: 0 });
    expect(moment.nodes.map(({ claims }) => claims.length)).toEqual([1, 1, 1]);
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
        nodes: nodes.map(({ state, claims }) => [state, claims.map(({ attempt }) => attempt)]),
        clients: clients.map(({ state, unread, locks }) => [state, unread, locks.map(({ nodes: on }) => on)]),
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

  it("describeMoment() describes the lock that is lost, and names each other client once", async () => {
    const moment = momentAt(await traceOf(alone()), 104);
    const [client] = moment.clients;
    const [lock] = client?.locks ?? [];
    if (client === undefined || lock === undefined) throw new Error("there is no lock");
    const describeLocks = (...locks: LockMoment[]) => describeMoment({ ...moment, clients: [{ ...client, locks }] });
    const more = { ...lock, fence: 8, hasMajority: false };
    expect(describeLocks({ ...lock, fence: 7 }, more)).toMatch(
      /token 8, 884 ms left, and 1 more\..* Wrong: the lock is lost/,
    );
    const rivals = ["client 2", "client 3", "client 4"];
    expect(describeLocks({ ...lock, rivals })).toContain("Not alone: client 2, client 3 and client 4 believe it, too.");
  });

  it.each([
    ["restart-guard", 500, "Node C, no vote."],
    ["node-clock", 100, "Node C, up, 1000 ms ahead."],
  ])("describeMoment() describes nodes and clocks: %s", async (story, atMs, text) => {
    expect(describeMoment(momentAt(await traceOf(`#story=${story}`), atMs))).toContain(text);
  });
});

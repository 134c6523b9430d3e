import {
  type ClaimTrace,
  drawScenario,
  type Fault,
  type FaultClassName,
  faultClasses,
  type MessageTrace,
  type Run,
  type Scenario,
  simulate,
  type Trace,
} from "@holdfast/simulation";
import { isNightly } from "@holdfast/testkit";
import { describe, expect, it, vi } from "vitest";
import { client, update } from "./scenes.ts";

const classes = Object.keys(faultClasses) as FaultClassName[];
const seeds = isNightly ? [1, 2, 3, 4, 5] : [2];

async function traceOf(scenario: Scenario): Promise<Trace> {
  const { trace } = await simulate(scenario, { trace: true });
  if (trace === undefined) throw new Error("there is no trace");
  return trace;
}

const runs = new Map<string, Promise<Run>>();

/** Simulates a drawn scenario with a trace, once. */
function drawnRun(faults: FaultClassName, seed: number): Promise<Run> {
  const key = `${faults} ${seed}`;
  const run = runs.get(key) ?? simulate(drawScenario(faults, seed), { trace: true });
  runs.set(key, run);
  return run;
}

/** The traces of all seeds of a class. */
async function drawnTraces(faults: FaultClassName): Promise<readonly Trace[]> {
  const drawn = await Promise.all(seeds.map((seed) => drawnRun(faults, seed)));
  return drawn.flatMap(({ trace = [] }) => trace);
}

/** All of a run but its trace, without the random names of owners, as text that can be compared. */
function textOf(run: Run): string {
  const left = ["trace", "timeline", "log", "tracer", "process", "owner", "takesOver"];
  return JSON.stringify(run, (key, value) => (left.includes(key) ? undefined : value));
}

/** Two clients want `stock`, one after the other. */
function scene(faults: readonly Fault[] = [], first = update({ thinkMs: 300 }), second = update({ afterMs: 50 })) {
  return {
    nodes: 3,
    clients: [client(1, first), client(2, second)],
    faults,
    settings: { latencyMs: [2, 2] },
  } satisfies Scenario;
}

function claimsOf({ claims }: Trace, node: string, attempt: string): ClaimTrace[] {
  return claims.filter((claim) => claim.node === node && claim.attempt === attempt);
}

describe("trace", () => {
  it.each(classes)("trace does not change a run with %s faults", async (faults) => {
    for (const seed of seeds) {
      const isSame = textOf(await drawnRun(faults, seed)) === textOf(await simulate(drawScenario(faults, seed)));
      expect(isSame, `seed ${seed}`).toBe(true);
    }
  });

  it("trace is plain data that can be sent to another thread", async () => {
    const trace = await traceOf(drawScenario("survivable", 3));
    expect(structuredClone(trace)).toEqual(trace);
  });

  it("trace is undefined unless it is asked for", async () => {
    expect((await simulate(scene())).trace).toBeUndefined();
  });

  it("trace shows every request, its reply, and when each arrives", async () => {
    const { messages } = await traceOf({ ...scene(), clients: [client(1, update())] });
    const [request, , , reply] = messages.filter(({ exchange }) => exchange === "acquire");
    expect(request).toMatchObject({ from: "client 1", to: "A", part: "request", attempt: "1.1" });
    expect(request).toMatchObject({ sentAtMs: 0, arrivesAtMs: 2, readAtMs: 2, isLost: false, isRepeated: false });
    expect(reply).toMatchObject({ from: "A", to: "client 1", part: "reply", outcome: "granted" });
    expect(reply).toMatchObject({ sentAtMs: 2, arrivesAtMs: 4, readAtMs: 4 });
  });

  it("trace shows a lost request, a lost reply, a repeated request and a reply that waits for a paused client", async () => {
    const of = { client: "client 1", message: 1 };
    const { messages, pauses } = await traceOf(
      scene([
        { kind: "lost message", ...of, node: "A", part: "request" },
        { kind: "lost message", ...of, node: "B", part: "reply" },
        { kind: "repeated message", ...of, node: "C", afterMs: 30 },
        { kind: "pause", client: "client 1", atMs: 3, forMs: 20, step: 0 },
      ]),
    );
    const about = (node: string) =>
      messages.filter(({ from, to, attempt }) => (from === node || to === node) && attempt === "1.1");
    expect(about("A")[0]).toMatchObject({ isLost: true, readAtMs: undefined });
    expect(about("B").slice(0, 2)).toMatchObject([{ isLost: false }, { part: "reply", isLost: true }]);
    expect(about("C").filter(({ isRepeated }) => isRepeated)).toMatchObject([{ sentAtMs: 30, part: "request" }]);
    expect(about("C")[1]).toMatchObject({ part: "reply", arrivesAtMs: 4, readAtMs: 23 });
    expect(pauses).toEqual([{ client: "client 1", fromMs: 3, untilMs: 23, isSuspension: false }]);
  });

  it("trace ends a claim when it expires, although nothing happens then", async () => {
    const faults: Fault[] = [{ kind: "client crash", client: "client 1", atMs: 50 }];
    const trace = await traceOf(scene(faults, update({ thinkMs: 300, ttlMs: 400 }), update({ afterMs: 900 })));
    const [claim] = claimsOf(trace, "A", "1.1");
    expect(claim).toMatchObject({ client: "client 1", fromMs: 2, untilMs: 402, end: "expired", mode: "exclusive" });
  });

  it("trace shows how the clock of a node, a crash and a release end claims", async () => {
    const trace = await traceOf(
      scene([
        { kind: "clock jump", of: "A", atMs: 100, byMs: 5000 },
        { kind: "node crash", node: "B", atMs: 120, forMs: 10, memory: "lost", isSilent: false, guardMs: 40 },
        { kind: "node crash", node: "C", atMs: 140, forMs: 10, memory: "kept", isSilent: true },
      ]),
    );
    expect(claimsOf(trace, "A", "1.1")[0]).toMatchObject({ untilMs: 100, end: "expired" });
    expect(claimsOf(trace, "B", "1.1")[0]).toMatchObject({ untilMs: 120, end: "forgotten" });
    expect(claimsOf(trace, "C", "1.1")[0]).toMatchObject({ end: "released" });
    expect(trace.clocks).toEqual([{ of: "A", atMs: 100, offsetMs: 5000, rate: 1 }]);
    expect(trace.outages).toEqual([
      { node: "B", fromMs: 120, untilMs: 130, votesFromMs: 170, memory: "lost" },
      { node: "C", fromMs: 140, untilMs: 150, votesFromMs: 150, memory: "kept" },
    ]);
    expect(trace.counters.filter(({ node }) => node === "B").map(({ counter }) => counter)).toContain(0);
    expect(trace.events.filter(({ who }) => who === "fault")).toHaveLength(3);
  });

  it.each(classes)("trace shows claims on a node that never exclude each other, with %s faults", async (faults) => {
    for (const { claims, endedAtMs } of await drawnTraces(faults)) {
      const places = new Map<string, ClaimTrace[]>();
      for (const claim of claims) {
        const place = `${claim.node} ${claim.resource}`;
        places.set(place, [...(places.get(place) ?? []), claim]);
      }
      const endOf = ({ end, untilMs }: ClaimTrace): number => (end === undefined ? endedAtMs : untilMs) - 1e-6;
      const together = [...places.values()].flatMap((here) =>
        here.flatMap((claim, index) => {
          const before = here.slice(0, index).filter((other) => endOf(other) > claim.fromMs);
          return before.filter(({ mode }) => mode === "exclusive" || claim.mode === "exclusive");
        }),
      );
      expect(together).toEqual([]);
      expect(claims.filter(({ fromMs, untilMs }) => untilMs < fromMs)).toEqual([]);
    }
  });

  it.each(classes)("trace shows a claim for every grant, with %s faults", async (faults) => {
    for (const { claims, messages, endedAtMs } of await drawnTraces(faults)) {
      const grants = messages.filter(({ outcome, sentAtMs }) => outcome === "granted" && sentAtMs < endedAtMs);
      const isShown = ({ from, attempt, sentAtMs }: MessageTrace): boolean =>
        claims.some((claim) => {
          const isSame = claim.node === from && claim.attempt === attempt;
          return isSame && claim.fromMs <= sentAtMs && sentAtMs <= claim.untilMs;
        });
      expect(grants.filter((grant) => !isShown(grant))).toEqual([]);
    }
  });

  it.each(classes)("trace predicts the validity that clients see, with %s faults", async (faults) => {
    for (const { leases, clocks, events } of await drawnTraces(faults)) {
      const extended = new Set(events.flatMap(({ what, atMs }) => (what.startsWith("has extended") ? atMs : [])));
      const rateOf = (name: string): number => clocks.findLast(({ of }) => of === name)?.rate ?? 1;
      const gaps = leases.flatMap(({ client: name, looks, validity }) =>
        looks
          .filter(({ remainingMs, atMs }) => remainingMs > 0 && !extended.has(atMs))
          .map(({ atMs, remainingMs }) => {
            const predictedMs = validity.findLast((each) => each.atMs < atMs)?.untilMs;
            return predictedMs === undefined ? 0 : Math.abs(predictedMs - atMs - remainingMs / rateOf(name));
          }),
      );
      expect(Math.max(0, ...gaps)).toBeLessThan(1e-3);
    }
  });

  it("trace shows the leases of clients, and why they end", async () => {
    const { leases, calls } = await traceOf(scene([{ kind: "clock jump", of: "client 1", atMs: 100, byMs: 300 }]));
    expect(leases).toMatchObject([
      { attempt: "1.1", client: "client 1", fence: expect.any(Number), end: "released" },
      { client: "client 2", end: "released" },
    ]);
    const [first, second] = leases[0]?.validity ?? [];
    expect(first?.untilMs).toBeCloseTo(988, 6);
    expect(second).toMatchObject({ atMs: 100 });
    expect(second?.untilMs).toBeCloseTo(688, 6);
    expect(calls).toEqual([
      { client: "client 1", resources: ["stock"], fromMs: 0, untilMs: 4 },
      { client: "client 2", resources: ["stock"], fromMs: expect.closeTo(50, 0), untilMs: leases[1]?.fromMs },
    ]);
  });

  it("trace shows no pause before its fault", async () => {
    const moments = Array.from({ length: 40 }, (_, index) => 100.001 + index * 7.31);
    const faults = moments.map((atMs): Fault => ({ kind: "pause", client: "client 1", atMs, forMs: 1.5, step: 0 }));
    const { pauses } = await traceOf(scene(faults));
    expect(pauses.filter(({ fromMs }, index) => fromMs !== moments[index])).toEqual([]);
  });

  it("trace names the quorum that a lock needs in each epoch", async () => {
    const { quorums, leases, claims } = await traceOf(drawScenario("changing", 2));
    expect(quorums[0]).toEqual([{ nodes: ["A", "B", "C"], needed: 2 }]);
    expect(quorums.filter((sets) => sets.length === 2).length).toBeGreaterThan(0);
    const epochs = new Set(leases.map(({ epoch }) => epoch));
    expect(epochs.size).toBeGreaterThan(1);
    expect([...leases, ...claims].filter(({ epoch }) => quorums[epoch - 1] === undefined)).toEqual([]);
    const [only] = (await traceOf(scene())).quorums;
    expect(only).toEqual([{ nodes: ["A", "B", "C"], needed: 2 }]);
  });

  it("trace shows nothing that a client that crashes during a pause would have done after it", async () => {
    const crash = (atMs: number): Fault => ({ kind: "client crash", client: "client 1", atMs });
    const pause = { client: "client 1", atMs: 100, forMs: 200 };
    const stalled = scene([{ kind: "pause before acting", ...pause }, crash(400)]);
    const held = await simulate(stalled, { trace: true });
    expect(held.trace?.pauses).toMatchObject([{ client: "client 1" }]);
    expect(held.trace?.accesses.filter((each) => each.client === "client 1")).toMatchObject([{ kind: "read" }]);
    expect(held.history.locks[0]?.seenValid?.untilMs).toBeLessThanOrEqual(400);
    const requesting = await traceOf(scene([{ kind: "pause", ...pause, atMs: 0, step: 3 }, crash(150)]));
    const late = requesting.messages.filter(({ from, sentAtMs }) => from === "client 1" && sentAtMs > 150);
    expect(late).toEqual([]);
    expect(requesting.claims.filter((each) => each.client === "client 1" && each.fromMs > 150)).toEqual([]);
    expect(requesting.pauses).toHaveLength(1);
  });

  it("trace shows a crashed client, a lost lock and a call that fails", async () => {
    const held = update({ thinkMs: 300, autoExtend: false });
    const crashed = await traceOf(scene([{ kind: "client crash", client: "client 1", atMs: 100 }], held));
    expect(crashed.deaths).toEqual([{ client: "client 1", atMs: 100 }]);
    expect(crashed.leases[0]).toMatchObject({ untilMs: 100, end: "crashed" });
    const lost = await traceOf(scene([{ kind: "clock jump", of: "client 1", atMs: 100, byMs: 5000 }], held));
    expect(lost.leases[0]).toMatchObject({ end: "lost" });
    const forgotten = await traceOf(scene([], update({ end: "forget" })));
    expect(forgotten.leases[0]).toMatchObject({ end: "left to expire" });
    const failing = await traceOf(scene([], held, update({ afterMs: 50, waitTimeoutMs: 20 })));
    const { fromMs = 0, untilMs = 0 } = failing.calls[1] ?? {};
    expect(untilMs - fromMs).toBeGreaterThanOrEqual(20);
    expect(untilMs - fromMs).toBeLessThan(25);
  });

  it("trace shows what each storage does with a late write", async () => {
    const faults: Fault[] = [{ kind: "late access", client: "client 1", access: 2, byMs: 2000 }];
    const { history, trace } = await simulate(scene(faults, update({ thinkMs: 100 })), { trace: true });
    const newer = trace?.leases[1];
    const late = trace?.accesses.filter(({ kind }) => kind === "write")[0];
    expect(late?.results).toMatchObject({
      "is guarded": { outcome: "refused", highest: newer?.fence },
      "checks all": { outcome: "refused", highest: newer?.fence, writtenBy: newer?.attempt, lost: undefined },
      "checks writes": { outcome: "refused", highest: newer?.fence },
      "checks nothing": { outcome: "accepted", highest: 0, lost: newer?.attempt, writtenBy: "1.1" },
    });
    expect(history.lostUpdates).toHaveLength(1);
  });

  it("trace shows what each storage does with accesses that show no token", async () => {
    const faults: Fault[] = [{ kind: "late access", client: "client 1", access: 2, byMs: 2000 }];
    const scenario = scene(faults, update({ thinkMs: 100, forgetsToken: true }));
    const { history, trace, violations } = await simulate(scenario, { trace: true });
    const [read, write] = trace?.accesses.filter(({ client }) => client === "client 1") ?? [];
    expect([read?.fence, write?.fence]).toEqual([undefined, undefined]);
    expect(read?.results).toMatchObject({
      "is guarded": { outcome: "accepted" },
      "checks all": { outcome: "accepted" },
    });
    const newer = trace?.leases[1]?.attempt;
    expect(write?.results).toMatchObject({
      "is guarded": { outcome: "refused", writtenBy: newer },
      "checks all": { outcome: "accepted", lost: newer },
      "checks nothing": { outcome: "accepted", lost: newer },
    });
    expect(history.lostUpdates.map(({ storage }) => storage)).not.toContain("is guarded");
    expect(violations).toEqual([]);

    const reader = update({ mode: "shared", thinkMs: 100, forgetsToken: true });
    const reading = await simulate(scene(faults, reader, update({ afterMs: 50 })), { trace: true });
    expect(reading.trace?.accesses.find(({ kind }) => kind === "read again")?.results).toBeDefined();
    expect(reading.violations).toEqual([]);
  });

  it.each(classes)("trace shows the locks and lost updates of the history, with %s faults", async (faults) => {
    for (const { history, trace } of await Promise.all(seeds.map((seed) => drawnRun(faults, seed)))) {
      const results = trace?.accesses.flatMap((access) => Object.values(access.results ?? {})) ?? [];
      expect(results.filter(({ lost }) => lost !== undefined)).toHaveLength(history.lostUpdates.length);
      const locks = history.locks.filter(({ grantedAtMs }) => grantedAtMs <= (trace?.endedAtMs ?? 0));
      const names = (list: readonly { readonly attempt: string }[] = []): string[] =>
        list.map(({ attempt }) => attempt);
      expect(names(trace?.leases).toSorted()).toEqual(names(locks).toSorted());
    }
  });
});

describe("simulate()", () => {
  it("simulate() gives the same history in a runtime without process.nextTick()", async () => {
    const inNode: string[] = [];
    for (const faults of classes) inNode.push(textOf(await simulate(drawScenario(faults, 2))));
    vi.stubGlobal("process", undefined);
    try {
      const elsewhere: string[] = [];
      for (const faults of classes) elsewhere.push(textOf(await simulate(drawScenario(faults, 2))));
      expect(elsewhere.map((text, index) => text === inNode[index])).toEqual(classes.map(() => true));
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

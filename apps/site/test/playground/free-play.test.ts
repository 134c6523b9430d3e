import { describeFault, drawScenario, type Scenario, simulate, type Trace } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import {
  crashClient,
  crashNode,
  cutLink,
  defaultPlay,
  type FreePlay,
  lateWrite,
  mendLink,
  type PlayFault,
  pauseClient,
  playLimits,
  restartNode,
  scenarioOfPlay,
  setClock,
  stallClient,
  wholeMicroseconds,
  withFaults,
} from "../../src/playground/free-play.ts";
import { momentAt, steps } from "../../src/playground/moment.ts";
import { stories } from "../../src/playground/stories.ts";

async function traceOf(scenario: Scenario): Promise<Trace> {
  const { trace } = await simulate(scenario, { trace: true });
  if (trace === undefined) throw new Error("there is no trace");
  return trace;
}

/** What pictures show at the steps before a moment: every fifth of them. */
function picturesBefore(trace: Trace, atMs: number): unknown[] {
  const before = steps(trace).filter((each) => each < atMs);
  return before.filter((_, index) => index % 5 === before.length % 5).map((each) => momentAt(trace, each));
}

const cursorMs = 803.25;
const play = scenarioOfPlay(defaultPlay);
const traceOfPlay = await traceOf(play);
const picturesOfPlay = picturesBefore(traceOfPlay, cursorMs);

const added: readonly (readonly [string, PlayFault])[] = [
  ["a crash", crashNode("C", cursorMs, { forMs: 300 })],
  ["a crash that loses memory", crashNode("C", cursorMs, { memory: "lost", forMs: 1, guardMs: 500 })],
  ["a cut link", cutLink("client 1", "A", cursorMs, { part: "replies", forMs: 900 })],
  ["a pause", pauseClient("client 1", cursorMs, 1500)],
  ["a pause before an access", stallClient("client 2", cursorMs, 1500)],
  ["a wrong clock of a node", setClock("B", cursorMs, 5000)],
  ["a wrong clock of a client", setClock("client 2", cursorMs, -5000)],
  ["a client that crashes", crashClient("client 1", cursorMs)],
];

describe("withFaults()", () => {
  it.each(added)("withFaults() changes nothing before the fault: %s", async (_name, fault) => {
    const withIt = await traceOf(withFaults(play, [fault]));
    expect(picturesBefore(withIt, cursorMs)).toEqual(picturesOfPlay);
    const struck = withIt.events.filter(({ who }) => who === "fault");
    expect(struck.map(({ what }) => what)).toEqual([describeFault(fault)]);
  });

  it("withFaults() changes nothing before the fault in a story and in a drawn scenario", async () => {
    for (const scenario of [stories[0]?.scenario ?? play, drawScenario("survivable", 2)]) {
      const without = await traceOf(scenario);
      const middleMs = steps(without)[Math.floor(steps(without).length / 2)] ?? 0;
      const atMs = wholeMicroseconds(middleMs);
      const withIt = await traceOf(withFaults(scenario, [crashNode("A", atMs, { memory: "lost" })]));
      expect(picturesBefore(withIt, atMs)).toEqual(picturesBefore(without, atMs));
    }
  });

  it("withFaults() adds nothing before the crash or the second pause of a client that is paused", async () => {
    const paused = withFaults(play, [pauseClient("client 1", 700.1, 500)]);
    const without = await traceOf(paused);
    for (const fault of [crashClient("client 1", cursorMs), pauseClient("client 1", 688.591, 100)]) {
      const withIt = await traceOf(withFaults(paused, [fault]));
      const before = (trace: Trace) => steps(trace).filter((each) => each < fault.atMs);
      expect(before(withIt)).toEqual(before(without));
      expect(picturesBefore(withIt, fault.atMs)).toEqual(picturesBefore(without, fault.atMs));
    }
  });

  it("withFaults() adds a late write, before which nothing changes", async () => {
    const fault = lateWrite(traceOfPlay, "client 1", cursorMs, 1500);
    if (fault === undefined) throw new Error("client 1 does not write");
    const withIt = await traceOf(withFaults(play, [fault]));
    expect(picturesBefore(withIt, cursorMs)).toEqual(picturesOfPlay);
    const late = withIt.accesses.filter(({ sentAtMs, arrivesAtMs }) => arrivesAtMs - sentAtMs > 1500);
    expect(late).toMatchObject([{ client: "client 1", kind: "write" }]);
    expect(late[0]?.sentAtMs).toBeGreaterThanOrEqual(cursorMs);
  });
});

describe("scenarioOfPlay()", () => {
  const corners = [0, 1].flatMap((nodes) =>
    [0, 1].flatMap((clients) => [0, 1].map((think) => [nodes, clients, think] as const)),
  );

  it.each(corners)("scenarioOfPlay() works within its limits: %i %i %i", async (nodes, clients, think) => {
    const corner: FreePlay = {
      ...defaultPlay,
      nodes: playLimits.nodes[nodes] ?? 1,
      clients: playLimits.clients[clients] ?? 1,
      thinkMs: [20, 600][think] ?? 1,
    };
    const { trace, violations } = await simulate(scenarioOfPlay(corner), { trace: true });
    expect(violations).toEqual([]);
    expect(trace?.nodes).toHaveLength(corner.nodes);
    expect(trace?.clients).toHaveLength(corner.clients);
    expect(trace?.endedAtMs).toBeGreaterThan(corner.forMs * 0.8);
    expect(trace?.endedAtMs).toBeLessThan(corner.forMs * 1.6);
  });
});

describe("restartNode()", () => {
  it("restartNode() ends the last crash of a node, and no other fault", async () => {
    const others = [crashNode("A", 100), crashNode("C", 50, { forMs: 20 }), setClock("C", 60, 5)];
    const faults = restartNode([...others, crashNode("C", 200)], "C", 450.0004);
    expect(faults).toEqual([...others, crashNode("C", 200, { forMs: 250.001 })]);
    const { outages } = await traceOf(withFaults(play, faults));
    expect(outages.filter(({ node }) => node === "C").map(({ untilMs }) => untilMs)).toEqual([70, 450.001]);
  });
});

describe("faults of one moment", () => {
  it("restartNode() and mendLink() end a fault at the moment at which it began", async () => {
    const crash = crashNode("C", 450, { memory: "lost" });
    const faults = mendLink(restartNode([crash, cutLink("client 1", "A", 450)], "C", 450), "client 1", "A", 450);
    expect(faults).toEqual([{ ...crash, forMs: 0 }, cutLink("client 1", "A", 450, { forMs: 0 })]);
    const moment = momentAt(await traceOf(withFaults(play, faults)), 450);
    expect(moment.nodes[2]).toMatchObject({ state: "up", counters: [] });
    expect(moment.cuts).toEqual([]);
  });
});

describe("mendLink()", () => {
  it("mendLink() ends the cuts of one link", () => {
    const other = cutLink("client 2", "A", 100);
    const faults = mendLink([cutLink("client 1", "A", 100), other], "client 1", "A", 400);
    expect(faults).toEqual([cutLink("client 1", "A", 100, { forMs: 300 }), other]);
  });
});

describe("lateWrite()", () => {
  it("lateWrite() returns nothing for a client that does not write any more", () => {
    expect(lateWrite(traceOfPlay, "client 1", 1e6, 100)).toBeUndefined();
  });
});

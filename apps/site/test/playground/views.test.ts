import { simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { crashNode, cutLink, type PlayFault, scenarioOfPlay, withFaults } from "../../src/playground/free-play.ts";
import { clientActions, type HandAction, nodeActions } from "../../src/playground/hand-faults.ts";
import { outcomeOf } from "../../src/playground/outcome.ts";
import { stories } from "../../src/playground/stories.ts";
import { storyTexts } from "../../src/playground/story-texts.ts";
import { lastIndexUpTo, partedScale, timeScale } from "../../src/playground/time-scale.ts";
import { holdSpans, uncovered } from "../../src/playground/truth.ts";
import { type PlayedRun, play } from "../../src/playground/worker.ts";

async function runOf(id: string): Promise<PlayedRun> {
  const reply = await play({ id: 1, subject: { kind: "story", id }, faults: [] });
  if ("error" in reply) throw new Error(reply.error);
  return reply.run;
}

describe("timeScale()", () => {
  const scale = timeScale([0, 1, 3, 2000]);

  it("timeScale() gives each position back as its moment", () => {
    for (const atMs of [0, 0.5, 1, 2.5, 3, 700, 2000]) {
      expect(scale.timeAt(scale.positionOf(atMs))).toBeCloseTo(atMs, 6);
    }
  });

  it("timeScale() draws a long quiet stretch much shorter than it is", () => {
    const [short, long] = [scale.positionOf(1), scale.lengthPx - scale.positionOf(3)];
    expect(long).toBeGreaterThan(short);
    expect(long).toBeLessThan(10 * short);
  });

  it("timeScale() ends at its first and last moment", () => {
    expect([scale.timeAt(-5), scale.timeAt(1e6)]).toEqual([0, 2000]);
    expect(timeScale([0]).lengthPx).toBe(0);
  });
});

describe("partedScale()", () => {
  it("partedScale() gives each part its length, and compresses quiet stretches within it", () => {
    const parts = [
      { fromMs: 0, lengthPx: 50 },
      { fromMs: 2, lengthPx: 200 },
    ];
    const { positionOf, timeAt, lengthPx } = partedScale([0, 1, 3, 2000], parts);
    expect([positionOf(0), positionOf(2), lengthPx]).toEqual([0, 50, 250]);
    expect(positionOf(1)).toBeCloseTo(25, 6);
    expect(positionOf(3)).toBeGreaterThan(60);
    for (const atMs of [0, 0.5, 2, 700, 2000]) expect(timeAt(positionOf(atMs))).toBeCloseTo(atMs, 6);
  });
});

describe("lastIndexUpTo()", () => {
  it("lastIndexUpTo() finds the last entry that is not above a value", () => {
    const sorted = [0, 1, 1, 4];
    expect([-1, 0, 0.5, 1, 3.9, 4, 9].map((value) => lastIndexUpTo(sorted, value))).toEqual([0, 0, 0, 2, 2, 3, 3]);
  });
});

describe("holdSpans()", () => {
  it("holdSpans() ends the lock of client 1 when the clock of node C jumps", async () => {
    const { trace } = await runOf("node-clock");
    const spans = holdSpans(trace).map(({ client, fromMs, untilMs }) => [
      client,
      Math.round(fromMs),
      Math.round(untilMs),
    ]);
    expect(spans).toEqual([
      ["client 1", 4, 30],
      ["client 2", 52, 165],
    ]);
  });

  it("holdSpans() needs a quorum of the present set while servers change", async () => {
    const reply = await play({ id: 1, subject: { kind: "seed", faults: "changing", seed: 3 }, faults: [] });
    if ("error" in reply) throw new Error(reply.error);
    const { trace } = reply.run;
    const held = new Set(holdSpans(trace).map(({ attempt }) => attempt));
    expect(trace.leases.filter(({ attempt }) => !held.has(attempt))).toEqual([]);
  });
});

describe("uncovered()", () => {
  it("uncovered() returns the parts of a span that no other covers", () => {
    const covers = [
      { fromMs: 2, untilMs: 4 },
      { fromMs: 6, untilMs: 20 },
    ];
    expect(uncovered({ fromMs: 0, untilMs: 10 }, covers)).toEqual([
      { fromMs: 0, untilMs: 2 },
      { fromMs: 4, untilMs: 6 },
    ]);
    expect(uncovered({ fromMs: 7, untilMs: 9 }, covers)).toEqual([]);
  });
});

describe("outcomeOf()", () => {
  it.each([
    [
      "pause",
      "Two clients believed that they held the lock at the same time. " +
        "Without fencing, 1 update was lost; with fencing, none: the storage refused token 1.",
    ],
    [
      "late-write-between",
      "2 locks were granted, and no two clients held the lock at the same time. Without fencing, 1 update was lost; " +
        "with fencing of writes only, 1; with fencing, none: the storage refused token 1.",
    ],
    [
      "guarded-table",
      "Two clients believed that they held the lock at the same time. Without fencing, 1 update was lost; " +
        "with fencing, 1; in the guarded table, none.",
    ],
    [
      "split-vote",
      "3 locks were granted, and no two clients held the lock at the same time. No storage lost an update.",
    ],
  ])("outcomeOf() says how the story %s ends", async (id, text) => {
    expect(outcomeOf(await runOf(id))).toBe(text);
  });

  it("outcomeOf() names the other rules that are violated", async () => {
    const run = await runOf("split-vote");
    const violations = [{ checker: "fence order", atMs: 1, what: "two tokens are equal" }] as const;
    expect(outcomeOf({ ...run, violations })).toMatch(/ The rule “fence order” is violated: two tokens are equal\.$/);
  });
});

const play5 = scenarioOfPlay({ nodes: 5, clients: 2, ttlMs: 1000, thinkMs: 100, forMs: 2000 });

async function actionsAt(target: string, atMs: number, faults: readonly PlayFault[]): Promise<readonly HandAction[]> {
  const { trace } = await simulate(withFaults(play5, faults), { trace: true });
  if (trace === undefined) throw new Error("the run has no trace");
  const context = { trace, faults, atMs, ttlMs: 1000 };
  return target.startsWith("client") ? clientActions(target, context) : nodeActions(target, context);
}

function faultsOf(actions: readonly HandAction[], wanted: string): readonly PlayFault[] | undefined {
  return actions.find(({ id }) => id === wanted)?.faults;
}

describe("nodeActions()", () => {
  it("nodeActions() crashes a node that is up, until it is restarted", async () => {
    const actions = await actionsAt("C", 50, []);
    expect(faultsOf(actions, "crash")).toEqual([crashNode("C", 50)]);
    expect(faultsOf(actions, "crash-without-memory")).toEqual([crashNode("C", 50, { memory: "lost" })]);
    expect(faultsOf(actions, "restart")).toBeUndefined();
  });

  it("nodeActions() restarts a node that is down, with a guard if it has lost its memory", async () => {
    const kept = await actionsAt("C", 80, [crashNode("C", 50)]);
    expect(kept.map(({ id }) => id)).not.toContain("crash");
    expect(faultsOf(kept, "restart")).toEqual([crashNode("C", 50, { forMs: 30 })]);
    expect(faultsOf(kept, "restart-guarded")).toBeUndefined();
    const lost = await actionsAt("C", 80, [crashNode("C", 50, { memory: "lost" })]);
    expect(faultsOf(lost, "restart-guarded")).toEqual([
      crashNode("C", 50, { memory: "lost", forMs: 30, guardMs: 1000 }),
    ]);
  });

  it("nodeActions() restarts a node at the moment of its crash", async () => {
    const actions = await actionsAt("C", 50, [crashNode("C", 50)]);
    expect(faultsOf(actions, "restart")).toEqual([crashNode("C", 50, { forMs: 0 })]);
  });

  it("nodeActions() cuts a link, and restores it", async () => {
    const cut = cutLink("client 2", "C", 50);
    expect(faultsOf(await actionsAt("C", 50, []), "cut-client-2")).toEqual([cut]);
    const actions = await actionsAt("C", 80, [cut]);
    expect(faultsOf(actions, "cut-client-2")).toBeUndefined();
    expect(faultsOf(actions, "mend-client-2")).toEqual([{ ...cut, forMs: 30 }]);
    expect(faultsOf(actions, "cut-client-1")).toEqual([cut, cutLink("client 1", "C", 80)]);
  });
});

describe("clientActions()", () => {
  it("clientActions() delays the next write, while there is one", async () => {
    const [late] = faultsOf(await actionsAt("client 1", 50, []), "late-write") ?? [];
    expect(late).toMatchObject({ kind: "late access", client: "client 1", byMs: 2000 });
    expect(faultsOf(await actionsAt("client 1", 1e6, []), "late-write")).toBeUndefined();
  });

  it("clientActions() adds faults to those that are there", async () => {
    const crash = crashNode("C", 10);
    for (const { faults } of await actionsAt("client 1", 50, [crash])) {
      expect(faults?.[0]).toBe(crash);
      expect(faults).toHaveLength(2);
    }
  });
});

describe("storyTexts", () => {
  it("storyTexts are those of the stories, in the same order", () => {
    expect(storyTexts.map(({ id }) => id)).toEqual(stories.map(({ id }) => id));
  });
});

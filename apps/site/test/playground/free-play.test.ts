import { describeFault, simulate, type Trace } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { wholeMicroseconds } from "../../src/playground/address.ts";
import { defaultPlay, type FreePlay, playLimits, scenarioOfPlay } from "../../src/playground/free-play.ts";
import { clientActions, type HandAction, nodeActions } from "../../src/playground/hand-faults.ts";
import { momentAt, steps } from "../../src/playground/moment.ts";
import { scenarioOf } from "../../src/playground/scenario-of.ts";
import { addressOf, faultsOf, traceOf } from "../support/runs.ts";

/** What pictures show at the steps before a moment: every fifth of them. */
function picturesBefore(trace: Trace, atMs: number): unknown[] {
  const before = steps(trace).filter((each) => each < atMs);
  return before.filter((_, index) => index % 5 === before.length % 5).map((each) => momentAt(trace, each));
}

const cursorMs = 803.25;
const traceOfPlay = await traceOf("#play=");
const picturesOfPlay = picturesBefore(traceOfPlay, cursorMs);

describe("scenarioOf()", () => {
  it.each([
    ["a crash", `crash:C:${cursorMs}:300:kept`],
    ["a crash that loses memory", `crash:C:${cursorMs}:1:lost:500`],
    ["a cut link", `cut:1:A:${cursorMs}:900:replies`],
    ["a pause", `pause:1:${cursorMs}:1500`],
    ["a pause before an access", `stall:2:${cursorMs}:1500`],
    ["a wrong clock of a node", `clock:B:${cursorMs}:5000`],
    ["a wrong clock of a client", `clock:2:${cursorMs}:-5000`],
    ["a client that crashes", `kill:1:${cursorMs}`],
  ])("scenarioOf() changes nothing before the fault: %s", async (_name, words) => {
    const withIt = await traceOf(`#play=&do=${words}`);
    expect(picturesBefore(withIt, cursorMs)).toEqual(picturesOfPlay);
    const struck = withIt.events.filter(({ who }) => who === "fault");
    expect(struck.map(({ what }) => what)).toEqual(faultsOf(words).map(describeFault));
  });

  it.each(["#story=pause", "#survivable=2"])("scenarioOf() changes nothing before the fault in %s", async (hash) => {
    const without = await traceOf(hash);
    const middleMs = steps(without)[Math.floor(steps(without).length / 2)] ?? 0;
    const atMs = wholeMicroseconds(middleMs);
    const withIt = await traceOf(`${hash}&do=crash:A:${atMs}:ever:lost`);
    expect(picturesBefore(withIt, atMs)).toEqual(picturesBefore(without, atMs));
  });

  it.each([
    ["crash", `kill:1:${cursorMs}`, cursorMs],
    ["second pause", "pause:1:688.591:100", 688.591],
  ])("scenarioOf() adds nothing before the %s of a client that is paused", async (_what, words, atMs) => {
    const paused = "#play=&do=pause:1:700.1:500";
    const [without, withIt] = [await traceOf(paused), await traceOf(`${paused},${words}`)];
    const before = (trace: Trace) => steps(trace).filter((each) => each < atMs);
    expect(before(withIt)).toEqual(before(without));
    expect(picturesBefore(withIt, atMs)).toEqual(picturesBefore(without, atMs));
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

/** What a reader may do at a moment of free play to which these faults were added. */
async function actionsAt(target: string, atMs: number, ...words: string[]): Promise<readonly HandAction[]> {
  const faults = faultsOf(...words);
  const trace = await traceOf(await scenarioOf({ subject: addressOf("#play=").subject, faults }));
  const context = { trace, faults, atMs, ttlMs: 1000 };
  return target.startsWith("client") ? clientActions(target, context) : nodeActions(target, context);
}

/** The faults after the action with this id; undefined if there is no such action, or if it is impossible. */
function after(actions: readonly HandAction[], wanted: string): HandAction["faults"] {
  return actions.find(({ id }) => id === wanted)?.faults;
}

describe("nodeActions()", () => {
  it("nodeActions() crashes a node that is up, until it is restarted", async () => {
    const actions = await actionsAt("C", 50);
    expect(after(actions, "crash")).toEqual(faultsOf("crash:C:50:ever:kept"));
    expect(after(actions, "crash-without-memory")).toEqual(faultsOf("crash:C:50:ever:lost"));
    expect(after(actions, "restart")).toBeUndefined();
  });

  it("nodeActions() restarts a node that is down, with a guard if it has lost its memory", async () => {
    const kept = await actionsAt("C", 80, "crash:C:50:ever:kept");
    expect(kept.map(({ id }) => id)).not.toContain("crash");
    expect(after(kept, "restart")).toEqual(faultsOf("crash:C:50:30:kept"));
    expect(after(kept, "restart-guarded")).toBeUndefined();
    const lost = await actionsAt("C", 80, "crash:C:50:ever:lost");
    expect(after(lost, "restart-guarded")).toEqual(faultsOf("crash:C:50:30:lost:1000"));
  });

  it("nodeActions() ends the last crash of a node, and no other fault, in whole microseconds", async () => {
    const others = ["crash:A:100:ever:kept", "crash:C:50:20:kept", "clock:C:60:5"];
    const restarted = after(await actionsAt("C", 450.0004, ...others, "crash:C:200:ever:kept"), "restart");
    expect(restarted).toEqual(faultsOf(...others, "crash:C:200:250.001:kept"));
    const { outages } = await traceOf(`#play=&do=${[...others, "crash:C:200:250.001:kept"].join()}`);
    expect(outages.filter(({ node }) => node === "C").map(({ untilMs }) => untilMs)).toEqual([70, 450.001]);
  });

  it("nodeActions() ends a fault at the moment at which it began", async () => {
    const words = ["crash:C:450:ever:lost", "cut:1:A:450:60000:both"];
    const restarted = after(await actionsAt("C", 450, ...words), "restart");
    expect(restarted).toEqual(faultsOf("crash:C:450:0:lost", "cut:1:A:450:60000:both"));
    const mended = after(await actionsAt("A", 450, "crash:C:450:0:lost", "cut:1:A:450:60000:both"), "mend-client-1");
    expect(mended).toEqual(faultsOf("crash:C:450:0:lost", "cut:1:A:450:0:both"));
    const moment = momentAt(await traceOf("#play=&do=crash:C:450:0:lost,cut:1:A:450:0:both"), 450);
    expect(moment.nodes[2]).toMatchObject({ state: "up", counters: [] });
    expect(moment.cuts).toEqual([]);
  });

  it("nodeActions() cuts a link, and restores it alone", async () => {
    const [cut, other] = ["cut:2:C:50:60000:both", "cut:1:A:50:60000:both"];
    expect(after(await actionsAt("C", 50), "cut-client-2")).toEqual(faultsOf(cut));
    const actions = await actionsAt("C", 80, cut, other);
    expect(after(actions, "cut-client-2")).toBeUndefined();
    expect(after(actions, "mend-client-2")).toEqual(faultsOf("cut:2:C:50:30:both", other));
    expect(after(actions, "cut-client-1")).toEqual(faultsOf(cut, other, "cut:1:C:80:60000:both"));
  });
});

describe("clientActions()", () => {
  it("clientActions() delays the next write, while there is one, before which nothing changes", async () => {
    const faults = after(await actionsAt("client 1", cursorMs), "late-write") ?? [];
    expect(faults).toMatchObject([{ kind: "late access", client: "client 1", byMs: 2000 }]);
    const withIt = await traceOf(await scenarioOf({ subject: addressOf("#play=").subject, faults }));
    expect(picturesBefore(withIt, cursorMs)).toEqual(picturesOfPlay);
    const late = withIt.accesses.filter(({ sentAtMs, arrivesAtMs }) => arrivesAtMs - sentAtMs > 1500);
    expect(late).toMatchObject([{ client: "client 1", kind: "write" }]);
    expect(late[0]?.sentAtMs).toBeGreaterThanOrEqual(cursorMs);
    expect(after(await actionsAt("client 1", 1e6), "late-write")).toBeUndefined();
  });

  it("clientActions() adds faults to those that are there", async () => {
    const [crash] = faultsOf("crash:C:10:ever:kept");
    for (const { faults } of await actionsAt("client 1", 50, "crash:C:10:ever:kept")) {
      expect(faults?.[0]).toEqual(crash);
      expect(faults).toHaveLength(2);
    }
  });
});

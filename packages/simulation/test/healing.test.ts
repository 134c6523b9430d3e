import { type Fault, type Scenario, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client, found, lines, update } from "./scenes.ts";
import { healingAtOnce, healingFromTooFew, healingWithoutFloor, ignoringFloors } from "./wrong-tools.ts";

const ttlMs = 1000;

/** Nothing passes between the clients and a node. */
function cut(node: string, atMs: number, untilMs: number): Fault {
  const clients = ["client 1", "client 2"];
  return { kind: "partition", clients, nodes: [node], part: "both", atMs, forMs: untilMs - atMs };
}

/**
 * Client 1, whose clock is fast, gets a lock on A and B. Then A loses its memory, and client 2 gets a lock on A and C:
 * only a floor on A makes its token larger.
 */
function scenario(healed: "before it votes" | "while it votes" | undefined, more: readonly Fault[] = []): Scenario {
  const crash: Fault = {
    ...{ kind: "node crash", node: "A", atMs: 10, forMs: 5, memory: "lost", isSilent: false, guardMs: ttlMs },
    ...(healed && { healed, healAfterMs: 5 }),
  };
  return {
    nodes: 3,
    clients: [client(1, update()), client(2, update({ afterMs: 3 * ttlMs }))],
    faults: [
      { kind: "clock jump", of: "client 1", atMs: 0, byMs: 5_000_000 },
      ...[cut("C", 0, 2 * ttlMs), crash, cut("B", 2 * ttlMs, 5 * ttlMs)],
      ...more,
    ],
  };
}

/** The request of client 1 reaches B only after A has forgotten it, and after B was read for the first time. */
const inProgress: readonly Fault[] = [
  { kind: "late message", client: "client 1", node: "B", message: 1, part: "request", byMs: 47 },
];

describe("a node that comes back empty", () => {
  it("without healing, lost counters and a fast clock break the order of tokens", async () => {
    expect(await found(scenario(undefined))).toContain("fence order");
  });

  it.each(["before it votes", "while it votes"] as const)("healed %s, later tokens are in order", async (healed) => {
    const { violations, history } = await simulate(scenario(healed));
    expect(violations).toEqual([]);
    const [one, other] = history.locks;
    expect(other?.fence).toBeGreaterThan(one?.fence ?? Infinity);
    expect(history.counterLosses).toEqual([expect.objectContaining({ node: "A", lostAtMs: 10 })]);
    expect(history.counterLosses[0]?.healedAtMs).toBeGreaterThan(10 + ttlMs);
  });

  it("healing waits for an attempt that was in progress when the counters were lost", async () => {
    expect(await found(scenario("before it votes", inProgress))).toEqual([]);
    expect(await found(scenario("before it votes", inProgress), healingAtOnce)).toContain("fence order");
  });

  it.each([
    ["a floor that is not written", healingWithoutFloor],
    ["a floor from too few nodes", healingFromTooFew],
    ["nodes that ignore their floor", ignoringFloors],
  ])("checkers find %s", async (_, wrong) => {
    expect(await found(scenario("before it votes"), wrong)).toContain("fence order");
  });

  it("a node keeps its memory if too few nodes would be left to heal it", async () => {
    const crash: Fault = {
      ...{ kind: "node crash", node: "B", atMs: 60, forMs: 5, memory: "lost", isSilent: false },
      ...{ guardMs: ttlMs, healed: "before it votes" },
    };
    const { history } = await simulate(scenario("before it votes", [crash]));
    expect(history.counterLosses.map(({ node }) => node)).toEqual(["A"]);
  });

  it("the timeline shows what the operator does", async () => {
    const told = await lines(scenario("before it votes"));
    expect(told).toContain(
      "fault: node A crashes for 5 ms, and forgets everything; then it does not vote for 1000 ms; the operator heals it before it votes",
    );
    expect(told).toContain("operator: asks B, C to scan its counters and claims");
    expect(told.some((line) => /^operator: asks A to raise the floor to 50000\d+ and the epoch to 0$/.test(line))).toBe(
      true,
    );
    expect(told).toContain("operator: has managed to heal node A");
  });
});

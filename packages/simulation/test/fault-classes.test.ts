import { simulateSeeds, unexpectedViolations } from "@holdfast/simulation";
import { isNightly } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { ordinaryKinds } from "../src/scenario/draw-faults.ts";

/** How many seeds of each class are simulated, and of those with healings or changes. The least counts grow with them. */
const [many, some] = isNightly ? [100, 40] : [20, 15];

describe("faultClasses", () => {
  it("faultClasses.survivable violates no checker and loses no update in any storage", async () => {
    const tally = await simulateSeeds({ faults: "survivable", count: many });
    expect(unexpectedViolations("survivable", tally)).toEqual([]);
    expect(tally.lostUpdates).toEqual({ "is guarded": 0, "checks all": 0, "checks writes": 0, "checks nothing": 0 });
    expect(tally.nonrepeatableReads).toEqual({
      "is guarded": 0,
      "checks all": 0,
      "checks writes": 0,
      "checks nothing": 0,
    });
    expect(tally.sharedLocks).toBeGreaterThan(many);
    const kinds = ordinaryKinds.map((kind) => (kind === "delayed restart" ? "node crash" : kind));
    const rare = kinds.filter((kind) => (tally.faults[kind] ?? 0) < many / 10);
    expect(rare).toEqual([]);
    expect(tally.handOvers).toBeGreaterThan(many / 10);
    expect(tally.turns).toBeGreaterThan(many);
  });

  it('faultClasses["lock-breaking"] violates mutual exclusion, and loses updates unless the storage checks every token', async () => {
    const tally = await simulateSeeds({ faults: "lock-breaking", count: many });
    expect(unexpectedViolations("lock-breaking", tally)).toEqual([]);
    expect(tally.violations["mutual exclusion"].runs).toBeGreaterThan(0);
    expect(tally.violations["fence order"].runs).toBe(0);
    expect(tally.lostUpdates["is guarded"]).toBe(0);
    expect(tally.lostUpdates["checks all"]).toBe(0);
    expect(tally.lostUpdates["checks writes"]).toBeGreaterThan(0);
    expect(tally.lostUpdates["checks nothing"]).toBeGreaterThan(tally.lostUpdates["checks writes"]);
    expect(tally.nonrepeatableReads["checks all"]).toBe(0);
  });

  it('faultClasses["fence-breaking"] violates fence order: no token order survives lost counters and a slow clock', async () => {
    const tally = await simulateSeeds({ faults: "fence-breaking", count: many });
    expect(unexpectedViolations("fence-breaking", tally)).toEqual([]);
    expect(tally.violations["fence order"].runs).toBeGreaterThan(0);
  });

  it("faultClasses.healed violates no checker, although nodes lose their counters and clocks are wrong", async () => {
    const tally = await simulateSeeds({ faults: "healed", count: some });
    expect(unexpectedViolations("healed", tally)).toEqual([]);
    expect(tally.healings).toBeGreaterThan((some * 3) / 4);
  });

  it("faultClasses.changing violates no checker while sets of nodes change", async () => {
    const tally = await simulateSeeds({ faults: "changing", count: some });
    expect(unexpectedViolations("changing", tally)).toEqual([]);
    expect(tally.changes).toBeGreaterThan((some * 3) / 2);
    expect(tally.healings).toBeGreaterThan(some / 13);
    expect(tally.faults["client crash"]).toBeGreaterThan(some / 4);
  });
});

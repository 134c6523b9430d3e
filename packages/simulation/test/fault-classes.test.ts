import { complaints, faultClasses, simulateSeeds } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";

describe("faultClasses", () => {
  it("faultClasses.survivable violates no checker and loses no update in any storage", async () => {
    const tally = await simulateSeeds({ faults: "survivable", count: 100 });
    expect(complaints("survivable", tally)).toEqual([]);
    expect(tally.lostUpdates).toEqual({ "checks all": 0, "checks writes": 0, "checks nothing": 0 });
    expect(tally.nonrepeatableReads).toEqual({ "checks all": 0, "checks writes": 0, "checks nothing": 0 });
    expect(tally.sharedLocks).toBeGreaterThan(100);
    const kinds = faultClasses.survivable.faults.map((kind) => (kind === "delayed restart" ? "node crash" : kind));
    const rare = kinds.filter((kind) => (tally.faults[kind] ?? 0) < 10);
    expect(rare).toEqual([]);
    expect(tally.handOvers).toBeGreaterThan(10);
    expect(tally.turns).toBeGreaterThan(100);
  });

  it('faultClasses["lock-breaking"] violates mutual exclusion, and loses updates unless the storage checks every token', async () => {
    const tally = await simulateSeeds({ faults: "lock-breaking", count: 100 });
    expect(complaints("lock-breaking", tally)).toEqual([]);
    expect(tally.violations["mutual exclusion"].runs).toBeGreaterThan(0);
    expect(tally.violations["fence order"].runs).toBe(0);
    expect(tally.lostUpdates["checks all"]).toBe(0);
    expect(tally.lostUpdates["checks writes"]).toBeGreaterThan(0);
    expect(tally.lostUpdates["checks nothing"]).toBeGreaterThan(tally.lostUpdates["checks writes"]);
    expect(tally.nonrepeatableReads["checks all"]).toBe(0);
  });

  it('faultClasses["fence-breaking"] violates fence order: no token order survives lost counters and a slow clock', async () => {
    const tally = await simulateSeeds({ faults: "fence-breaking", count: 100 });
    expect(complaints("fence-breaking", tally)).toEqual([]);
    expect(tally.violations["fence order"].runs).toBeGreaterThan(0);
  });

  it("faultClasses.healed violates no checker, although nodes lose their counters and clocks are wrong", async () => {
    const tally = await simulateSeeds({ faults: "healed", count: 40 });
    expect(complaints("healed", tally)).toEqual([]);
    expect(tally.healings).toBeGreaterThan(30);
  });

  it("faultClasses.changing violates no checker while sets of nodes change", async () => {
    const tally = await simulateSeeds({ faults: "changing", count: 40 });
    expect(complaints("changing", tally)).toEqual([]);
    expect(tally.changes).toBeGreaterThan(60);
    expect(tally.healings).toBeGreaterThan(3);
    expect(tally.faults["client crash"]).toBeGreaterThan(10);
  });
});

import {
  drawScenario,
  type Fault,
  type FaultClassName,
  faultClasses,
  type Run,
  simulate,
  simulateSeeds,
} from "@holdfast/simulation";
import { isNightly } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { client, lines, update } from "./scenes.ts";

/** A run as plain data that can be compared. */
function facts({ history, violations, timeline, operations, struck, events }: Run) {
  const { lostUpdates, misbehaviour, leaks, recovery } = history;
  const locks = history.locks.map(({ attempt, fence, startedAtMs, grantedAtMs, seenValid }) => {
    return { attempt, fence, startedAtMs, grantedAtMs, seenValid };
  });
  return { locks, lostUpdates, misbehaviour, leaks, recovery, violations, timeline, operations, struck, events };
}

describe("simulate()", () => {
  it.each(Object.keys(faultClasses) as FaultClassName[])(
    "simulate() gives the same history each time for a seed with %s faults",
    async (faults) => {
      const timeline = { timeline: true };
      const seeds = isNightly ? [1, 2, 3, 4] : [1, 2];
      const first: unknown[] = [];
      for (const seed of seeds) first.push(facts(await simulate(drawScenario(faults, seed), timeline)));
      for (const seed of seeds.toReversed()) {
        expect(facts(await simulate(drawScenario(faults, seed), timeline))).toEqual(first[seed - 1]);
      }
      expect(new Set(first.map((run) => JSON.stringify(run))).size).toBe(seeds.length);
    },
  );

  it("simulate() gives the same history with and without the timeline", async () => {
    const told = await simulate(drawScenario("survivable", 7), { timeline: true });
    const untold = await simulate(drawScenario("survivable", 7));
    expect(facts(untold)).toEqual({ ...facts(told), timeline: [] });
  });

  it("simulate() runs concurrent calls one after another, and restores Math.random", async () => {
    const { random } = Math;
    const [a, b] = await Promise.all([1, 1].map((seed) => simulate(drawScenario("survivable", seed))));
    expect(facts(a as Run)).toEqual(facts(b as Run));
    expect(Math.random).toBe(random);
  });

  it("simulate() restores Math.random when createNode throws, and runs the next scenario", async () => {
    const { random } = Math;
    const createNode = () => {
      throw new Error("no such server");
    };
    await expect(simulate({ clients: [] }, { createNode })).rejects.toThrow("no such server");
    expect(Math.random).toBe(random);
    expect((await simulate({ clients: [client(1, update())] })).operations).toBe(1);
  });

  it("simulate() records a run without faults from the first request to the last release", async () => {
    expect(await lines({ nodes: 3, clients: [client(1, update())] })).toEqual([
      "client 1: asks A, B, C for stock, 1.1",
      "node A: granted 1.1, fence 1",
      "node B: granted 1.1, fence 1",
      "node C: granted 1.1, fence 1",
      "client 1: has lock 1.1 on stock, fence 1",
      "client 1: reads stock under lock 1.1",
      "client 1: writes stock under lock 1.1",
      "client 1: is done with lock 1.1",
      "client 1: asks A, B, C to release 1.1",
      "node A: freed 1.1",
      "node B: freed 1.1",
      "node C: freed 1.1",
    ]);
  });

  it("simulate() rejects a fault that names an unknown client or node", async () => {
    const faults: Fault[] = [{ kind: "client crash", client: "client1", atMs: 1 }];
    const expected = 'the fault "client crash" names "client1", which is not one of A, B, C, client 1';
    await expect(simulate({ nodes: 3, clients: [client(1, update())], faults })).rejects.toThrow(
      new RangeError(expected),
    );
  });

  it("drawScenario() rejects an unknown class, and simulateSeeds() an invalid count", async () => {
    expect(() => drawScenario("all" as never, 1)).toThrow(
      'faults must be survivable, lock-breaking, fence-breaking, healed, changing, not "all"',
    );
    await expect(simulateSeeds({ faults: "survivable", count: Number.NaN })).rejects.toThrow(
      "count must be a whole number from 1, not NaN",
    );
  });
});

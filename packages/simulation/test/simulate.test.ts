import {
  drawScenario,
  type Fault,
  type FaultClassName,
  faultClasses,
  type Run,
  simulate,
  simulateSeeds,
} from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client, lines, update } from "./scenes.ts";

/** All that there is to know of a run, as plain data. */
function facts({ history, violations, timeline, operations, struck, events }: Run) {
  const { lostUpdates, misbehaviour, leaks, recovery } = history;
  const locks = history.locks.map(({ attempt, fence, startedAtMs, grantedAtMs, seenValid }) => {
    return { attempt, fence, startedAtMs, grantedAtMs, seenValid };
  });
  return { locks, lostUpdates, misbehaviour, leaks, recovery, violations, timeline, operations, struck, events };
}

describe("simulate()", () => {
  it.each(Object.keys(faultClasses) as FaultClassName[])(
    "simulate() comes to the same history each time that a seed is drawn with %s faults",
    async (faults) => {
      const timeline = { timeline: true };
      const seeds = [1, 2, 3, 4];
      const first: unknown[] = [];
      for (const seed of seeds) first.push(facts(await simulate(drawScenario(faults, seed), timeline)));
      for (const seed of seeds.toReversed()) {
        expect(facts(await simulate(drawScenario(faults, seed), timeline))).toEqual(first[seed - 1]);
      }
      expect(new Set(first.map((run) => JSON.stringify(run))).size).toBe(seeds.length);
    },
  );

  it("simulate() comes to the same history whether or not the timeline is written", async () => {
    const told = await simulate(drawScenario("survivable", 7), { timeline: true });
    const untold = await simulate(drawScenario("survivable", 7));
    expect(facts(untold)).toEqual({ ...facts(told), timeline: [] });
  });

  it("simulate() runs one after another when several are asked for at once, and gives Math.random back", async () => {
    const { random } = Math;
    const [a, b] = await Promise.all([1, 1].map((seed) => simulate(drawScenario("survivable", seed))));
    expect(facts(a as Run)).toEqual(facts(b as Run));
    expect(Math.random).toBe(random);
  });

  it("simulate() gives Math.random back when a node cannot be made, and goes on with the next scenario", async () => {
    const { random } = Math;
    const createNode = () => {
      throw new Error("no such server");
    };
    await expect(simulate({ clients: [] }, { createNode })).rejects.toThrow("no such server");
    expect(Math.random).toBe(random);
    expect((await simulate({ clients: [client(1, update())] })).operations).toBe(1);
  });

  it("simulate() tells a scenario without faults from the first request to the last release", async () => {
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

  it("simulate() refuses faults that name nobody, who could never be struck", async () => {
    const faults: Fault[] = [{ kind: "client crash", client: "client1", atMs: 1 }];
    const expected = 'the fault "client crash" names "client1", which is none of A, B, C, client 1';
    await expect(simulate({ nodes: 3, clients: [client(1, update())], faults })).rejects.toThrow(
      new RangeError(expected),
    );
  });

  it("drawScenario() and simulateSeeds() refuse classes that there are not, and counts that are none", async () => {
    expect(() => drawScenario("all" as never, 1)).toThrow(
      'faults must be survivable, lock-breaking, fence-breaking, not "all"',
    );
    await expect(simulateSeeds({ faults: "survivable", count: Number.NaN })).rejects.toThrow(
      "count must be from 1, not NaN",
    );
  });
});

import { drawScenario, type Scenario, type SimulateOptions, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client, found, lines, update } from "./scenes.ts";
import {
  beginningLate,
  ignoringFloors,
  migratingWithoutFloor,
  notSettling,
  oneMajority,
  withoutEpochs,
} from "./wrong-tools.ts";

const ttlMs = 1000;
const safety = ["mutual exclusion", "fence order", "fenced storage"];

/** Three nodes, five, and five others, while two clients lock all the time. */
const growing: Scenario = {
  clients: [1, 2].map((number) =>
    client(number, ...Array.from({ length: 40 }, () => update({ by: "using", afterMs: 50, thinkMs: 100 }))),
  ),
  membership: { sets: [["A", "B", "C"], [..."ABCDE"], [..."FGHIJ"]], startMs: 500, watchMs: 200, followMs: 300 },
};

/** The first of the seeds for which the checkers find a violation of safety. */
async function firstUnsafeSeed(seeds: number, wrong: SimulateOptions): Promise<number> {
  for (let seed = 1; seed <= seeds; seed++) {
    const checkers = await found(drawScenario("changing", seed), wrong);
    if (checkers.some((checker) => safety.includes(checker))) return seed;
  }
  return Number.NaN;
}

describe("a change of the set of nodes", () => {
  it("clients lock without an error while three nodes become five, and then five others", async () => {
    const { violations, changes, history } = await simulate(growing);
    expect(violations).toEqual([]);
    expect(changes).toBe(2);
    expect(history.locks.length).toBeGreaterThanOrEqual(80);
    expect(history.waiters.filter(({ attempt }) => attempt === undefined)).toEqual([]);
    const clients = ["client 1", "client 2"];
    const names = [3, 5, 7, 9].flatMap((epoch) => clients.map((name) => `${name} in epoch ${epoch}`));
    expect(new Set(history.locks.map((lock) => lock.client))).toEqual(new Set([...clients, ...names]));
  });

  it("the timeline shows the steps of the operator, and when clients follow", async () => {
    const told = await lines({
      clients: [client(1, update())],
      membership: { sets: [["A"], ["B"]], watchMs: 1 },
    });
    expect(told).toContain("operator: asks A, B to raise the floor to 0 and the epoch to 2");
    expect(told).toContain("operator: has managed to begin the change after epoch 1");
    expect(told).toContain("client 1: goes on in epoch 3");
    expect(told).toContain("client 1: goes on in epoch 5");
    expect(told).toContain("operator: has managed to end the change after epoch 1");
  });

  it("a floor is not written while a client of the stage before has a lock", async () => {
    const holder = client(1, update({ by: "using", thinkMs: 4 * ttlMs }));
    const others = client(2, ...Array.from({ length: 20 }, () => update({ afterMs: 20, waitTimeoutMs: 20_000 })));
    const hurry = { discipline: "operator hurries", closes: "at once" } as const;
    const scenario: Scenario = {
      clients: [holder, others],
      membership: { sets: [["A", "B", "C"], [..."DEF"]], watchMs: 1, startMs: 100, ...hurry },
    };
    expect(await found(scenario)).toEqual([]);
    expect(await found(scenario, notSettling)).toContain("mutual exclusion");
  });

  it("without a floor, a client with a slow clock gets a smaller token from the new nodes", async () => {
    const scenario: Scenario = {
      clients: [client(1, update()), client(2, update({ afterMs: 8 * ttlMs }))],
      faults: [{ kind: "clock jump", of: "client 1", atMs: 0, byMs: 5_000_000 }],
      membership: { sets: [["A", "B", "C"], [..."DEF"]], watchMs: 1, startMs: 100 },
    };
    expect(await found(scenario)).toEqual([]);
    expect(await found(scenario, migratingWithoutFloor)).toContain("fence order");
    expect(await found(scenario, ignoringFloors)).toContain("fence order");
  });

  it.each([
    ["nodes that do not check the epoch", withoutEpochs],
    ["a migration that begins late, so that clients skip a stage", beginningLate],
    ["joint clients that need only one majority", oneMajority],
  ])("a few seeds find %s", async (_, wrong) => {
    expect(await firstUnsafeSeed(12, wrong)).toBeLessThanOrEqual(12);
  });
});

import { drawScenario, type FaultClassName, faultClasses, simulate } from "@holdfast/simulation";
import { watchForSleepers } from "@holdfast/testkit/sleepers";
import { describe, expect, it } from "vitest";
import { readKeptSeeds } from "../src/kept-seeds.ts";

const kept = Object.entries(await readKeptSeeds()).flatMap(([faults, seeds]) =>
  seeds.map((seed): [FaultClassName, number] => [faults as FaultClassName, seed]),
);

describe("seeds that once broke a promise", () => {
  it.each(kept)("simulate() keeps every promise: %s %i", async (faults, seed) => {
    const { violations } = await simulate(drawScenario(faults, seed), { invariant: watchForSleepers });
    expect(violations.filter(({ checker }) => !faultClasses[faults].mayBreak.includes(checker))).toEqual([]);
  });
});

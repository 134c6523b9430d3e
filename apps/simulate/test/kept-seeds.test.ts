import { drawScenario, type FaultClassName, faultClasses, simulate } from "@holdfast/simulation";
import { watchForSleepers } from "@holdfast/testkit/sleepers";
import { describe, expect, it } from "vitest";
import { readKeptSeeds } from "../src/kept-seeds.ts";

const kept = Object.entries(await readKeptSeeds()).flatMap(([faults, seeds]) =>
  seeds.map((seed): [FaultClassName, number] => [faults as FaultClassName, seed]),
);

describe("seeds that once broke a promise", () => {
  // The promises were broken while each resource had a counter of its own.
  const worlds = kept.flatMap(([faults, seed]) => {
    const drawn = drawScenario(faults, seed).settings?.counters ?? Infinity;
    return [...new Set([Infinity, drawn])].map((counters) => [faults, seed, counters] as const);
  });
  it.each(worlds)("simulate() keeps every promise: %s %i, counters: %f", async (faults, seed, counters) => {
    const drawn = drawScenario(faults, seed);
    const scenario = { ...drawn, settings: { ...drawn.settings, counters } };
    const { violations } = await simulate(scenario, { invariant: watchForSleepers });
    expect(violations.filter(({ checker }) => !faultClasses[faults].mayBreak.includes(checker))).toEqual([]);
  });
});

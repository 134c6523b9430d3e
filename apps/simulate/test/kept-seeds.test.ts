import { drawScenario, type FaultClassName, faultClasses, simulate } from "@holdfast/simulation";
import { isNightly } from "@holdfast/testkit";
import { watchForSleepers } from "@holdfast/testkit/sleepers";
import { describe, expect, it } from "vitest";
import { readKeptSeeds } from "../src/kept-seeds.ts";

/** The number of seeds of each class that run in `pnpm test`: the worlds of others take up to ten seconds. */
const seedsOfClass = isNightly ? Infinity : 1;

const kept = Object.entries(await readKeptSeeds()).flatMap(([faults, seeds]) =>
  seeds.slice(0, seedsOfClass).map((seed): [FaultClassName, number] => [faults as FaultClassName, seed]),
);

describe("seeds that once broke a promise", () => {
  // The promises were broken while each resource had a counter of its own. With the number that is drawn today, which
  // the worlds of `pnpm simulate` have too, the seeds run nightly.
  const worlds = kept.flatMap(([faults, seed]) => {
    const drawn = drawScenario(faults, seed).settings?.counters ?? Infinity;
    return [...new Set(isNightly ? [Infinity, drawn] : [Infinity])].map(
      (counters) => [faults, seed, counters] as const,
    );
  });
  it.each(worlds)("simulate() keeps every promise: %s %i, counters: %f", async (faults, seed, counters) => {
    const drawn = drawScenario(faults, seed);
    const scenario = { ...drawn, settings: { ...drawn.settings, counters } };
    const { violations } = await simulate(scenario, { invariant: watchForSleepers });
    expect(violations.filter(({ checker }) => !faultClasses[faults].mayBreak.includes(checker))).toEqual([]);
  });
});

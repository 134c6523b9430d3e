import { checkHistory } from "@holdfast/history";
import { fuzzSeed, isNightly } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errors, type Step, System, steps, written } from "./histories.ts";

fc.configureGlobal({ seed: fuzzSeed, numRuns: isNightly ? 1_000 : 30 });

function play(some: readonly Step[], offsetsMs: readonly number[]): System {
  const system = new System(offsetsMs);
  for (const step of some) system.step(step);
  return system;
}

/** The wall clocks of three machines, which differ by at most this. */
const differMs = 5;
const offsets = fc.tuple(fc.constant(1), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }));

describe("checkHistory()", () => {
  test("checkHistory() blames no correct system of one machine", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (some) => {
        const files = await written(play(some, [0, 0, 0]).files());
        expect(await checkHistory(files)).toMatchObject({ verdict: "correct", findings: [] });
      }),
    );
  });

  test("checkHistory() blames no correct system because of clocks that differ", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, offsets, async (some, offsetsMs) => {
        const files = await written(play(some, offsetsMs).files());
        const verdict = await checkHistory(files, { clocksDifferMs: differMs });
        expect(verdict).toMatchObject({ verdict: "correct", findings: [] });
      }),
    );
  });

  test.each(Object.entries(errors))("checkHistory() finds %s", { timeout: 600_000 }, async (_, [rule, plant]) => {
    await fc.assert(
      fc.asyncProperty(steps, steps, async (before, after) => {
        const system = play(before, [0, 0, 0]);
        system.calm();
        plant(system);
        system.nowMs += 1;
        for (const step of after) system.step(step);
        const { findings } = await checkHistory(await written(system.files()));
        expect(findings.map((finding) => finding.rule)).toContain(rule);
      }),
    );
  });
});

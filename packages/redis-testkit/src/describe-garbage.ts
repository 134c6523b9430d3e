import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { expect, test } from "vitest";
import { serverForTest } from "./adapter-tools.ts";
import { measuredPairs } from "./lock-pairs.ts";

/** On a busy machine, requests live longer, and so more of them survive. A chain survives in each round. */
const roundsMax = 3;

/**
 * Registers the tests that short-lived objects die young. Something that survives must not keep all that comes after it,
 * as a chain of objects does: collections would then cost more than the locks themselves. The program calls `lockPairs`.
 */
export function describeGarbage(name: string, program: URL): void {
  test.each([
    [1, 10, 500],
    [5, 100, 1_500],
  ])(
    `${name} with %i servers and %i locks at a time leaves at most %i bytes of each to full garbage collections`,
    { timeout: 120_000 },
    async (servers, atOnce, survivorsMax) => {
      const started = await Promise.all(Array.from({ length: servers }, () => serverForTest()));
      const ports = started.map(({ port }) => String(port));
      // With little room for young objects, those in use would survive, too.
      const flags = ["--expose-gc", "--trace-gc-nvp", "--min-semi-space-size=16"];
      const run = [...flags, await bundleProgram(program), String(atOnce), ...ports];
      let survivors = Infinity;
      for (let round = 0; round < roundsMax && survivors >= survivorsMax; round++) {
        const { stdout } = await promisify(execFile)(process.execPath, run, { maxBuffer: 2 ** 26 });
        survivors = promotedBytes(stdout) / measuredPairs;
      }
      expect(survivors).toBeLessThan(survivorsMax);
    },
  );
}

/** Adds up what the collections of young objects moved to the old ones during the measurement. */
function promotedBytes(output: string): number {
  const [, measured = ""] = output.split(/^(?:measure|end): .*$/m);
  const collections = [...measured.matchAll(/ gc=s .* promoted=(\d+) /g)];
  expect(collections.length).toBeGreaterThan(5);
  return collections.reduce((sum, [, promoted]) => sum + Number(promoted), 0);
}

import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { fuzzSeed } from "@holdfast/testkit";
import { createLockManager } from "@holdfast/web-locks";
import { describe, expect, it } from "vitest";
import { play, scriptOf, specified } from "./script.ts";

const managers = 20;
/** They run at once, with names of their own. */
const programsPerManager = 10;

describe.each([1, 3])("random programs over %i nodes", (count) => {
  it("request() and query() do what the algorithms of the specification do", { timeout: 120_000 }, async () => {
    const runAll = async (manager: number) => {
      const locks = createLockManager(new Redlock(Array.from({ length: count }, () => memoryNode())));
      const run = async (program: number) => {
        const seed = fuzzSeed + manager * programsPerManager + program;
        const script = scriptOf(seed, true);
        const outcomes = await play(locks, script, `${program} `);
        expect({ seed, outcomes }).toEqual({ seed, outcomes: specified(script) });
      };
      await Promise.all(Array.from({ length: programsPerManager }, (_, program) => run(program)));
    };
    await Promise.all(Array.from({ length: managers }, (_, manager) => runAll(manager)));
  });
});

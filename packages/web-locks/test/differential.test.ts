import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { FaultyNode, fuzzSeed, isNightly, VirtualClock } from "@holdfast/testkit";
import { createLockManager } from "@holdfast/web-locks";
import { describe, expect, it } from "vitest";
import { play, scriptOf, specified } from "./script.ts";

const managers = isNightly ? 20 : 5;
/** They run at once, with names of their own. */
const programsPerManager = 10;

/** Returns a node whose messages take a few milliseconds each way. */
function distantNode(clock: VirtualClock): FaultyNode {
  const node = new FaultyNode(memoryNode({ clock }), clock);
  node.fault = () => ({ requestMs: 3, replyMs: 3 });
  return node;
}

describe.each([1, 3])("random programs over %i nodes", (count) => {
  it.each([
    { where: "in this process", nodeOn: (clock: VirtualClock) => memoryNode({ clock }) },
    { where: "far away", nodeOn: distantNode },
  ])("request() and query() do what the algorithms of the specification do, with nodes $where", async ({ nodeOn }) => {
    for (let manager = 0; manager < managers; manager++) {
      const clock = new VirtualClock();
      const locks = createLockManager(
        new Redlock(
          Array.from({ length: count }, () => nodeOn(clock)),
          { clock },
        ),
      );
      const limit = () => new Promise<void>((resolve) => void clock.startTimer(30_000, resolve));
      const run = async (program: number) => {
        const seed = fuzzSeed + manager * programsPerManager + program;
        const script = scriptOf(seed, true);
        const outcomes = await play(locks, script, `${program} `, limit);
        expect({ seed, outcomes }).toEqual({ seed, outcomes: specified(script) });
      };
      await clock.until(Promise.all(Array.from({ length: programsPerManager }, (_, program) => run(program))));
    }
  });
});

import { afterAll, describe, expect, test } from "vitest";
import type { BrokenNode } from "./broken-nodes/broken-node.ts";
import { brokenNodes as allBrokenNodes } from "./broken-nodes/index.ts";
import { createExpectCaught, declared, timeoutsMax } from "./expect-caught.ts";
import { offersOf } from "./offers.ts";
import { hangGuardMs, type Limit, parseOptions, type Settings } from "./settings.ts";
import type { DescribeLockNodeOptions } from "./subject.ts";
import { type Offers, type Proof, proofOf } from "./topics.ts";

/** Options of {@link describeBrokenNodes}. */
export interface DescribeBrokenNodesOptions extends DescribeLockNodeOptions {
  /** The broken nodes to test. Default: `brokenNodes`, which the suite is known to catch. */
  readonly brokenNodes?: readonly BrokenNode[];
}

/**
 * Registers tests that show that the suite catches broken nodes. Each test breaks the correct node in one way, and
 * expects the test named in `caughtBy` to fail. The correct node must pass that test with the same timeout.
 *
 * @param name the name of the node in the test output
 * @param options the options of {@link describeLockNode} for the correct node, and the broken nodes
 * @throws {TypeError | RangeError} for invalid options, before any subject is created
 *
 * @example
 * ```ts
 * import { describeBrokenNodes } from "@holdfast/conformance";
 * import { memoryNode } from "@holdfast/memory";
 *
 * describeBrokenNodes("my node", {
 *   create: async () => {
 *     const node = memoryNode();
 *     return { node, rival: node, close: async () => {} };
 *   },
 *   noServer: "it keeps its claims in this process",
 *   noOtherProcess: "it keeps its claims in this process",
 * });
 * ```
 */
export function describeBrokenNodes(name: string, options: DescribeBrokenNodesOptions): void {
  const settings = parseOptions(options);
  const { brokenNodes = allBrokenNodes } = options;
  describe(`${name}, broken by fault injection`, async () => {
    const offers = await offersOf(settings);
    afterAll(() => settings.processes.close());
    const obstacles = new Map<string, number>();
    const expectCaught = createExpectCaught(settings);
    for (const broken of brokenNodes) {
      const proof = proofOf(broken.caughtBy);
      const obstacle = obstacleTo(broken, proof, offers, settings);
      if (obstacle !== undefined) obstacles.set(obstacle, (obstacles.get(obstacle) ?? 0) + 1);
      else {
        test(
          `a node that ${broken.fault}: caught by "${proof.statement}"`,
          ({ onTestFinished }) => expectCaught(broken, proof, onTestFinished),
          (timeoutsMax + 1) * hangGuardMs(settings),
        );
      }
    }
    for (const [obstacle, count] of obstacles) {
      test(`not tested because ${obstacle}: ${count} of ${brokenNodes.length} broken nodes`, () => {
        expect(count).toBeLessThan(brokenNodes.length);
      });
    }
  });
}

/** Returns why this node cannot be broken in this way, or undefined if it can. */
function obstacleTo(broken: BrokenNode, proof: Proof, offers: Offers, { cannot }: Settings): string | undefined {
  const lacking = broken.needs?.find((part) => !offers[part]);
  if (lacking !== undefined) return `the subject does not offer ${lacking}`;
  const limits = [...(proof.needs as readonly Limit[]), ...declared(broken).map(([name]) => name)];
  const limit = limits.find((name) => cannot.has(name));
  return limit && `${limit} is declared: ${cannot.get(limit)}`;
}

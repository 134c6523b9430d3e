import { describeLockNode } from "@holdfast/conformance";
import { VirtualClock } from "@holdfast/testkit";
import { memoryNode } from "../src/index.ts";

for (const counters of [Number.POSITIVE_INFINITY, 3, 1]) {
  describeLockNode(
    `memoryNode with ${counters === Infinity ? "a counter for each resource" : `counters: ${counters}`}`,
    {
      create: async () => {
        const clock = new VirtualClock();
        const node = memoryNode({ clock, counters });
        return {
          node,
          rival: node,
          advance: (ms) => clock.advance(ms),
          nowMs: clock.wallMs,
          close: async () => {},
        };
      },
      noServer: "it lives in this process",
      noOtherProcess: "it lives in this process",
    },
  );
}

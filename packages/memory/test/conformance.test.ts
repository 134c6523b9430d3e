import { describeLockNode } from "@holdfast/conformance";
import { VirtualClock } from "@holdfast/testkit";
import { memoryNode } from "../src/index.ts";

describeLockNode("memoryNode", {
  create: async () => {
    const clock = new VirtualClock();
    const node = memoryNode({ clock });
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
});

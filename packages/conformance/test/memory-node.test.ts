import { memoryNode } from "@holdfast/memory";
import { describeLockNode } from "../src/index.ts";
import { inThisProcess, noOtherProcess, nothing } from "./subjects.ts";

// On real time, as against a server whose clock is its own. On a virtual clock it runs in verdicts.test.ts.
describeLockNode("memoryNode on real time", {
  create: async () => {
    const node = memoryNode();
    return { node, rival: node, close: nothing };
  },
  noServer: inThisProcess,
  noOtherProcess,
});

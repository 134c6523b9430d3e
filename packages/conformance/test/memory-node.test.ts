import { memoryNode } from "@holdfast/memory";
import { describeLockNode } from "../src/index.ts";
import { inThisProcess, noOtherProcess, nothing } from "./subjects.ts";

// In real time, as with a server that has its own clock. With a virtual clock it runs in verdicts.test.ts.
describeLockNode("memoryNode in real time", {
  create: async () => {
    const node = memoryNode();
    return { node, rival: node, close: nothing };
  },
  noServer: inThisProcess,
  noOtherProcess,
});

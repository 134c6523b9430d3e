import type { LockNode } from "@holdfast/core";
import { describeFacts, describeLockNode } from "../../src/describe-lock-node.ts";
import { parseOptions } from "../../src/settings.ts";
import { rightNodes } from "../right-nodes.ts";
import { nodeOnVirtualClock, nothing } from "../subjects.ts";
import { brokenNodes } from "./index.ts";

/*
 * Run by suite-bites.test.ts in a vitest of its own, as most of these tests have to fail.
 */

for (const { name, cannot = {}, makeFrom } of rightNodes) {
  const create = async () => {
    const { node: complete, time } = nodeOnVirtualClock();
    const node = makeFrom(complete);
    return { node, rival: node, ...time, close: nothing };
  };
  describeLockNode(name, { create, cannot });
}

for (const { mistake, caughtBy, cannot = {}, breakIt, breakRival } of brokenNodes) {
  const create = async () => {
    const { node: correct, time } = nodeOnVirtualClock();
    const node: LockNode = { ...correct, ...breakIt(correct) };
    const rival: LockNode = breakRival ? { ...correct, ...breakRival(correct) } : node;
    return { node, rival, ...time, close: nothing };
  };
  // What must happen does so at once here, or, because of the mistake, never.
  const settings = parseOptions({ create, cannot, patienceMs: 200 });
  describeFacts(mistake, settings, (statement) => statement === caughtBy);
}

import type { VirtualClock } from "@holdfast/testkit";
import type { RedlockContext } from "../../src/context.ts";
import { FirstLock } from "../../src/first-lock.ts";
import type { LockNode } from "../../src/lock-node.ts";
import { NodeSets } from "../../src/node-sets.ts";
import { OpenCalls } from "../../src/quorum-call.ts";
import { RequestLimit } from "../../src/request-limit.ts";

/** The state that a `Redlock` of these nodes would share with its parts. */
export function contextOf(nodes: readonly LockNode[], clock: VirtualClock): RedlockContext {
  const openCalls = new OpenCalls(clock);
  return {
    nodes,
    majority: new NodeSets(nodes).majority,
    epoch: undefined,
    clock,
    observer: {},
    tokens: { highest: 0 },
    servers: new Map(),
    limit: new RequestLimit(clock, nodes),
    openCalls,
    firstLock: new FirstLock(clock, nodes, openCalls),
    waiterName: "this process",
  };
}

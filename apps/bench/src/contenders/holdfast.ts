/** Holdfast over Redis and in memory, with its defaults. */

import type { ClientLibrary } from "@holdfast/app-kit/clients";
import { connectNodes } from "@holdfast/app-kit/nodes";
import type { LockNode } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import type { Connect } from "./contender.ts";
import { holdfastClient } from "./holdfast-client.ts";

export const overIoredis: Connect = overRedis("ioredis");
export const overNodeRedis: Connect = overRedis("node-redis");

function overRedis(library: ClientLibrary): Connect {
  return async (ports, settings) => {
    const { nodes, close } = await connectNodes(library, ports, settings.waiting === "deaf" ? { wakeUps: false } : {});
    return holdfastClient(nodes, settings, close);
  };
}

/** All clients of this process share them. */
const memoryNodes: LockNode[] = [];

/** As many nodes in this process as there would be servers. */
export const overMemory: Connect = async (ports, settings) => {
  while (memoryNodes.length < ports.length) memoryNodes.push(memoryNode());
  const nodes = memoryNodes.slice(0, ports.length);
  const heard = settings.waiting === "deaf" ? nodes.map(({ watch: _, ...node }) => node) : nodes;
  return holdfastClient(heard, settings, () => {});
};

import { connectIoredis } from "@holdfast/app-kit/clients";
import { connectNodes } from "@holdfast/app-kit/nodes";
import type { LockNode } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import type { Redis } from "ioredis";
import type { ServerAddress } from "./plan.ts";

const memoryNodeCount = 5;
let memoryNodes: readonly LockNode[] | undefined;

/** Opens five nodes: over the servers, with new connections, or the memory nodes that this process shares. */
export async function openNodes(servers: readonly ServerAddress[], listens = true): Promise<readonly LockNode[]> {
  if (servers.length === 0) {
    memoryNodes ??= Array.from({ length: memoryNodeCount }, () => memoryNode());
    return listens ? memoryNodes : memoryNodes.map(({ watch: _, ...node }) => node);
  }
  return (await connectNodes("ioredis", addressesOf(servers), { wakeUps: listens })).nodes;
}

/** Connects a client to each server. */
export function openClients(servers: readonly ServerAddress[]): Promise<readonly Redis[]> {
  return connectIoredis(addressesOf(servers));
}

function addressesOf(servers: readonly ServerAddress[]): string[] {
  return servers.map(({ url }) => url);
}

import type { LockNode } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { memoryNode } from "@holdfast/memory";
import { Redis } from "ioredis";
import type { ServerAddress } from "./plan.ts";

const memoryNodeCount = 5;
let memoryNodes: readonly LockNode[] | undefined;

/** Five nodes: over the servers with connections of their own, or those in memory of this process. */
export async function openNodes(servers: readonly ServerAddress[], listens = true): Promise<readonly LockNode[]> {
  if (servers.length === 0) {
    memoryNodes ??= Array.from({ length: memoryNodeCount }, () => memoryNode());
    return listens ? memoryNodes : memoryNodes.map(({ watch: _, ...node }) => node);
  }
  return (await openClients(servers)).map((client) => ioredisNode(client, { wakeUps: listens }));
}

/** A client for each server, all of them ready. */
export async function openClients(servers: readonly ServerAddress[]): Promise<readonly Redis[]> {
  const clients = servers.map(({ url }) => new Redis(url));
  for (const client of clients) client.on("error", () => {});
  await Promise.all(clients.map((client) => client.ping()));
  return clients;
}

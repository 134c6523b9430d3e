import { nodeRedisNode } from "@holdfast/node-redis";
import { destroy, nodeRedisClients } from "./clients.ts";
import type { Client, Settings } from "./contender.ts";
import { holdfastClient } from "./holdfast.ts";

export async function connect(ports: readonly number[], settings: Settings): Promise<Client> {
  const clients = await nodeRedisClients(ports);
  const nodes = clients.map((client) => nodeRedisNode(client));
  return holdfastClient(nodes, settings, () => destroy(clients));
}

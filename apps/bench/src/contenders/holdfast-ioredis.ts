import { disconnect } from "@holdfast/interop/clients";
import { ioredisNode } from "@holdfast/ioredis";
import { ioredisClients } from "./clients.ts";
import type { Client, Settings } from "./contender.ts";
import { holdfastClient } from "./holdfast.ts";

export async function connect(ports: readonly number[], settings: Settings): Promise<Client> {
  const clients = await ioredisClients(ports);
  const nodes = clients.map((client) => ioredisNode(client));
  return holdfastClient(nodes, settings, () => disconnect(clients));
}

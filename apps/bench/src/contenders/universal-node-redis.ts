import { NodeRedisAdapter } from "redlock-universal";
import { destroy, nodeRedisClients } from "./clients.ts";
import type { Client, Settings } from "./contender.ts";
import { universalClient } from "./universal.ts";

export async function connect(ports: readonly number[], settings: Settings): Promise<Client> {
  const clients = await nodeRedisClients(ports);
  const adapters = clients.map((client) => new NodeRedisAdapter(client));
  return universalClient(adapters, settings, () => destroy(clients));
}

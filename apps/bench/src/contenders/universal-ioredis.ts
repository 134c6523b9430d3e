import { disconnect } from "@holdfast/interop/clients";
import { IoredisAdapter } from "redlock-universal";
import { ioredisClients } from "./clients.ts";
import type { Client, Settings } from "./contender.ts";
import { universalClient } from "./universal.ts";

export async function connect(ports: readonly number[], settings: Settings): Promise<Client> {
  const clients = await ioredisClients(ports);
  const adapters = clients.map((client) => new IoredisAdapter(client));
  return universalClient(adapters, settings, () => disconnect(clients));
}

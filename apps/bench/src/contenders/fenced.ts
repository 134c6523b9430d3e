import { disconnect } from "@holdfast/interop/clients";
import { ioredisClients } from "./clients.ts";
import type { Client } from "./contender.ts";
import { fencedServer } from "./fenced-server.ts";
import { rawClient } from "./raw.ts";

/** A lock with a fencing token by ioredis alone: each call by itself, or all that begin in a tick in one. */
export async function fencedClient(ports: readonly number[], isBatching: boolean): Promise<Client> {
  const clients = await ioredisClients(ports);
  const servers = await Promise.all(clients.map((client) => fencedServer(client, isBatching)));
  return rawClient(servers, () => disconnect(clients));
}

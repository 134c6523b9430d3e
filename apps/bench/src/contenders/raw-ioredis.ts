import { disconnect } from "@holdfast/interop/clients";
import { ioredisClients } from "./clients.ts";
import type { Client } from "./contender.ts";
import { compareAndDelete, rawClient } from "./raw.ts";

export async function connect(ports: readonly number[]): Promise<Client> {
  const clients = await ioredisClients(ports);
  const shas = await Promise.all(clients.map((client) => client.script("LOAD", compareAndDelete)));
  const sha = String(shas[0]);
  const servers = clients.map((client) => ({
    set: (key: string, value: string, ttlMs: number) => client.set(key, value, "PX", ttlMs, "NX"),
    delete: (key: string, value: string) => client.evalsha(sha, 1, key, value),
  }));
  return rawClient(servers, () => disconnect(clients));
}

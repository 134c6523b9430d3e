import { ioredisClients as readyClients } from "@holdfast/interop/clients";
import { createClient } from "@redis/client";
import type { Redis } from "ioredis";

type NodeRedisClient = ReturnType<typeof nodeRedisClient>;

function nodeRedisClient(port: number) {
  return createClient({ url: `redis://127.0.0.1:${port}` }).on("error", () => {});
}

/** One ioredis client for each server, all of them ready. Later errors of their connections are ignored. */
export async function ioredisClients(ports: readonly number[]): Promise<Redis[]> {
  const clients = await readyClients(ports);
  for (const client of clients) client.on("error", () => {});
  return clients;
}

/** One node-redis client for each server, all of them ready. */
export async function nodeRedisClients(ports: readonly number[]): Promise<NodeRedisClient[]> {
  const clients = ports.map(nodeRedisClient);
  await Promise.all(clients.map((client) => client.connect()));
  return clients;
}

/** Closes all of them. */
export function destroy(clients: readonly NodeRedisClient[]): void {
  for (const client of clients) client.destroy();
}

import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { afterAll } from "vitest";

/** Starts servers with a client for each, and stops both after the tests of the file. */
export async function startServers(count: number): Promise<{ servers: RedisServer[]; clients: Redis[] }> {
  const servers = await Promise.all(Array.from({ length: count }, () => startRedisServer()));
  const clients = servers.map(({ port }) => new Redis({ port }));
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await Promise.all(servers.map((server) => server.stop()));
  });
  return { servers, clients };
}

/** Returns the different values of a key. */
export async function valuesOf(clients: readonly Redis[], key: string): Promise<(string | null)[]> {
  return [...new Set(await Promise.all(clients.map((client) => client.get(key))))];
}

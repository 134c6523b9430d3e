import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";

/** Starts servers, and stops them after the tests of the file. */
export async function startServers(count: number): Promise<RedisServer[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => startRedisServer()));
  afterAll(async () => void (await Promise.all(servers.map((server) => server.stop()))));
  return servers;
}

/** Returns the different values of these keys on these servers. */
export async function valuesOf(servers: readonly RedisServer[], keys: readonly string[]): Promise<unknown[]> {
  const values = servers.flatMap((server) => keys.map((key) => server.command("GET", key)));
  return [...new Set(await Promise.all(values))];
}

import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll, vi } from "vitest";
import type { HeldLock, Locker } from "./libraries/library.ts";

/** How long tests wait for replies of all servers: a lock settles at a majority, and so does its release. */
export const patience = { timeout: 30_000, interval: 2 };

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

/** Retries until a library has the lock of these keys: the last release may still be in flight to a minority. */
export function untilLocked({ tryLock }: Locker, keys: readonly string[], ttlMs: number): Promise<HeldLock> {
  return vi.waitFor(async () => {
    const lock = await tryLock(keys, ttlMs);
    if (lock === null) throw new Error(`${keys} did not become free`);
    return lock;
  }, patience);
}

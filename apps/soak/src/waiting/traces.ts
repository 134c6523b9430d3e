import { setTimeout as sleep } from "node:timers/promises";
import type { RedisServer } from "@holdfast/testkit";

/** Waiting lists expire at most this long after the last request, in milliseconds. */
const waitingListMsMax = 10_000;

/** How long the releases of abandoned claims may be in flight, in milliseconds; far less than their ttl. */
const releaseMsMax = 3_000;

/** Subscriptions outlive the last waiter for a second, and their connection for another, in milliseconds. */
const lingerMsMax = 6_000;

/** Returns the claims on the servers, when no program holds or wants one. */
export async function claimsLeft(servers: readonly RedisServer[]): Promise<string[]> {
  return untilNone(releaseMsMax, async () => {
    const lists = await Promise.all(
      servers.map(async (server) => {
        const keys = (await server.command("KEYS", "lock:*")) as string[];
        return Promise.all(keys.map(async (key) => `${key} on ${server.port}: ${await server.command("GET", key)}`));
      }),
    );
    return lists.flat();
  });
}

/** Returns the keys that do not expire soon. All except fence counters must: a server keeps a bounded number of those. */
export async function keysThatStay(servers: readonly RedisServer[]): Promise<string[]> {
  const lists = await Promise.all(
    servers.map(async (server) => {
      const all = (await server.command("KEYS", "*")) as string[];
      const keys = all.filter((key) => !key.startsWith("holdfast:fence:"));
      const ends = await Promise.all(keys.map(async (key) => Number(await server.command("PTTL", key))));
      return keys
        .map((key, index) => ({ key, endMs: ends[index] as number }))
        .filter(({ endMs }) => endMs === -1 || endMs > waitingListMsMax)
        .map(({ key, endMs }) => `${key} on ${server.port} (PTTL ${endMs})`);
    }),
  );
  return lists.flat();
}

/** Returns the subscriptions that outlive all waiters for too long. */
export function subscriptionsLeft(servers: readonly RedisServer[]): Promise<string[]> {
  return untilNone(lingerMsMax, async () => {
    const lists = await Promise.all(servers.map((server) => server.command("PUBSUB", "CHANNELS", "*")));
    return (lists as string[][]).flatMap((channels, index) =>
      channels.map((channel) => `${channel} on ${servers[index]?.port}`),
    );
  });
}

/** Returns the connections of closed clients, without that of this query. */
export function connectionsLeft(servers: readonly RedisServer[]): Promise<string[]> {
  return untilNone(releaseMsMax, async () => {
    const lists = await Promise.all(servers.map((server) => server.command("CLIENT", "LIST")));
    return lists.flatMap((list, index) => {
      const count = String(list).trim().split("\n").length - 1;
      return count > 0 ? [`${count} on ${servers[index]?.port}`] : [];
    });
  });
}

/** Describes the claims on the servers, for the report of a hang. */
export async function describeClaims(servers: readonly RedisServer[]): Promise<string[]> {
  const lists = await Promise.all(
    servers.map(async (server) => {
      const keys = ((await server.command("KEYS", "lock:*")) as string[]).sort();
      const owners = await Promise.all(
        keys.map(
          async (key) => `${key} = ${await server.command("GET", key)} (${await server.command("PTTL", key)} ms)`,
        ),
      );
      return `server ${server.port}: ${owners.join(", ") || "no claims"}`;
    }),
  );
  return lists;
}

async function untilNone(limitMs: number, look: () => Promise<string[]>): Promise<string[]> {
  for (const endMs = performance.now() + limitMs; ; ) {
    const found = await look();
    if (found.length === 0 || performance.now() > endMs) return found;
    await sleep(50);
  }
}

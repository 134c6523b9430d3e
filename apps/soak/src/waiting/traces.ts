import { setTimeout as sleep } from "node:timers/promises";
import type { RedisServer } from "@holdfast/testkit";

/** Waiting lists end at the latest when nobody has asked for so long, in milliseconds. */
const waitingListMsMax = 10_000;

/** For how long the releases of claims that were given up may be under way, in milliseconds; far less than their ttl. */
const releaseMsMax = 3_000;

/** Subscriptions outlive the last waiter for a second, and their connection for another, in milliseconds. */
const lingerMsMax = 6_000;

/** What is left of claims on the servers, once no program holds or wants one. */
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

/** Keys that would stay: all but fence counters are hints, which must end soon. */
export async function keysThatStay(servers: readonly RedisServer[]): Promise<string[]> {
  const lists = await Promise.all(
    servers.map(async (server) => {
      const keys = (await server.command("KEYS", "*")) as string[];
      const ends = await Promise.all(keys.map(async (key) => Number(await server.command("PTTL", key))));
      return keys
        .map((key, index) => ({ key, endMs: ends[index] as number }))
        .filter(({ key, endMs }) => endMs === -1 || (!key.startsWith("holdfast:fence:") && endMs > waitingListMsMax))
        .map(({ key, endMs }) => `${key} on ${server.port} (PTTL ${endMs})`);
    }),
  );
  return lists.flat();
}

/** Subscriptions that outlive all waiters for longer than they may. */
export function subscriptionsLeft(servers: readonly RedisServer[]): Promise<string[]> {
  return untilNone(lingerMsMax, async () => {
    const lists = await Promise.all(servers.map((server) => server.command("PUBSUB", "CHANNELS", "*")));
    return (lists as string[][]).flatMap((channels, index) =>
      channels.map((channel) => `${channel} on ${servers[index]?.port}`),
    );
  });
}

/** Connections of closed clients; the one that asks is not counted. */
export function connectionsLeft(servers: readonly RedisServer[]): Promise<string[]> {
  return untilNone(releaseMsMax, async () => {
    const lists = await Promise.all(servers.map((server) => server.command("CLIENT", "LIST")));
    return lists.flatMap((list, index) => {
      const count = String(list).trim().split("\n").length - 1;
      return count > 0 ? [`${count} on ${servers[index]?.port}`] : [];
    });
  });
}

/** Who holds the claims that the servers know of, for the report of a hang. */
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

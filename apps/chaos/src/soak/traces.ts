/** What programs leave on servers. */
import { setTimeout as sleep } from "node:timers/promises";
import type { RedisServer } from "@holdfast/testkit";

interface Trace {
  /** How long the trace may remain. */
  readonly limitMs: number;
  look(server: RedisServer): Promise<readonly string[]>;
}

/** Waiting lists expire at most this long after the last request, in milliseconds. */
const waitingListMaxMs = 10_000;

const traces = {
  /** When no program holds or wants one. The releases of abandoned claims may be in flight, for far less than their ttl. */
  "claims are left": { limitMs: 3_000, look: claimsOn },
  /** Subscriptions outlive the last waiter for a second, and their connection for another. */
  "subscriptions are left": {
    limitMs: 6_000,
    look: async (server) => (await server.command("PUBSUB", "CHANNELS", "*")) as string[],
  },
  /** All except fence counters must expire soon: a server keeps a bounded number of those. */
  "keys stay": {
    limitMs: 0,
    async look(server) {
      const all = (await server.command("KEYS", "*")) as string[];
      const keys = all.filter((key) => !key.startsWith("holdfast:fence:"));
      const ends = await Promise.all(
        keys.map(async (key) => [key, Number(await server.command("PTTL", key))] as const),
      );
      return ends.filter(([, ms]) => ms === -1 || ms > waitingListMaxMs).map(([key, ms]) => `${key} (PTTL ${ms})`);
    },
  },
  /** Those of closed clients, without that of this query. */
  "connections are left": {
    limitMs: 3_000,
    async look(server) {
      const list = String(await server.command("CLIENT", "LIST"));
      const lines = list.trim().split("\n").slice(0, -1);
      return lines.map((line) => line.split(" ", 2).join(" ")); // id and address
    },
  },
} satisfies Record<string, Trace>;

/** Waits until there is no such trace, and says which remain after a time limit. */
export async function tracesLeft(what: keyof typeof traces, servers: readonly RedisServer[]): Promise<string[]> {
  const { limitMs, look } = traces[what];
  for (const endMs = performance.now() + limitMs; ; await sleep(50)) {
    const found = await onEach(servers, look);
    if (found.length === 0) return [];
    if (performance.now() > endMs) return [`${what}: ${[...new Set(found)].slice(0, 10).join(", ")}`];
  }
}

/** Describes the claims on the servers, for the report of a hang. */
export function describeClaims(servers: readonly RedisServer[]): Promise<string[]> {
  return onEach(servers, claimsOn);
}

async function onEach(servers: readonly RedisServer[], look: Trace["look"]): Promise<string[]> {
  const lists = await Promise.all(
    servers.map(async (server) => (await look(server)).map((found) => `${found} on ${server.port}`)),
  );
  return lists.flat();
}

async function claimsOn(server: RedisServer): Promise<string[]> {
  const keys = ((await server.command("KEYS", "lock:*")) as string[]).sort();
  return Promise.all(
    keys.map(async (key) => `${key} = ${await server.command("GET", key)} (${await server.command("PTTL", key)} ms)`),
  );
}

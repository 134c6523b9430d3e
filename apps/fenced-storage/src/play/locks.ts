import { Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { Redis } from "ioredis";

/** Locks over several servers, for A and for B. */
export interface Locks {
  readonly redlock: Redlock;
  close(): Promise<void>;
}

/** Connects to the lock servers. Calls that wait for a lock give up when the signal aborts. */
export async function connectLocks(urls: readonly string[], signal?: AbortSignal): Promise<Locks> {
  const clients = urls.map((url) => new Redis(url));
  for (const client of clients) client.on("error", () => {}); // core reports nodes that fail
  await Promise.all(clients.map((client) => client.ping()));
  const nodes = clients.map((client) => ioredisNode(client));
  const redlock = new Redlock(nodes, { ttlMs: 60_000, waitTimeoutMs: 60_000, signal });
  return {
    redlock,
    async close() {
      await redlock.close();
      for (const client of clients) client.disconnect();
    },
  };
}

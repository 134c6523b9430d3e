import { Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { Redis } from "ioredis";

/** Locks over several servers, for A and for B. */
export interface Locks {
  readonly redlock: Redlock;
  close(): Promise<void>;
}

/** Connects to the lock servers. Who waits for a lock gives up when the signal aborts. */
export async function connectLocks(urls: readonly string[], signal?: AbortSignal): Promise<Locks> {
  const clients = urls.map((url) => new Redis(url));
  for (const client of clients) client.on("error", () => {}); // a node that fails is told of by core
  await Promise.all(clients.map((client) => client.ping()));
  const nodes = clients.map((client) => ioredisNode(client));
  return {
    // A busy machine may take its time; nothing here depends on it.
    redlock: new Redlock(nodes, { ttlMs: 60_000, nodeTimeoutMs: 500, waitTimeoutMs: 60_000, signal }),
    async close() {
      for (const node of nodes) await node.close();
      for (const client of clients) client.disconnect();
    },
  };
}

/** What each process, and each thread, needs in order to lock: clients of the lock servers, and a `Redlock` over them. */
import { Redlock, type RedlockOptions } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { Redis } from "ioredis";

/** How long a server may take to accept a connection, in milliseconds. */
const connectTimeoutMs = 1_000;

export interface Locks {
  readonly redlock: Redlock;
  /** Waits until releases have reached the servers, and closes the connections. Call it when nothing is locked any more. */
  close(): Promise<void>;
}

/**
 * Connects to the lock servers. A server that cannot be reached is no reason to fail, as a majority will do; its client
 * goes on trying.
 *
 * @param urls of three or five independent servers, the same ones in every process
 */
export async function openLocks(urls: readonly string[], options?: RedlockOptions): Promise<Locks> {
  const clients = urls.map((url) => new Redis(url, { lazyConnect: true, connectTimeout: connectTimeoutMs }));
  for (const client of clients) client.on("error", () => {}); // the client connects again; the observer sees failing nodes
  await Promise.allSettled(clients.map((client) => client.connect()));
  const redlock = new Redlock(
    clients.map((client) => ioredisNode(client)),
    options,
  );
  return {
    redlock,
    async close() {
      await redlock.close();
      for (const client of clients) client.disconnect();
    },
  };
}

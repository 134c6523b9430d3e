/** The locks of a process or thread: clients of the lock servers, and a `Redlock` over them. */
import { Redlock, type RedlockOptions } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { Redis } from "ioredis";

/** How long a server may take to accept a connection, in milliseconds. */
const connectTimeoutMs = 1_000;

export interface Locks {
  readonly redlock: Redlock;
  /** Waits until releases have reached the servers, and closes the connections. Call it after the last release. */
  close(): Promise<void>;
}

/**
 * Connects to the lock servers. An unreachable server is no failure, because a majority is enough; its client keeps trying
 * to connect. Locks can be acquired at once.
 *
 * @param urls the URLs of three or five independent servers, the same in every process
 */
export function openLocks(urls: readonly string[], options?: RedlockOptions): Locks {
  const clients = urls.map((url) => new Redis(url, { connectTimeout: connectTimeoutMs }));
  for (const client of clients) client.on("error", () => {}); // the client reconnects, and the observer reports failing nodes
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

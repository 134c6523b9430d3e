/** What each process, and each thread, needs in order to lock: clients of the lock servers, and a `Redlock` over them. */
import { setTimeout as sleep } from "node:timers/promises";
import { Redlock, type RedlockOptions } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { Redis } from "ioredis";

/** How long a server may take to accept a connection, or to say good-bye, in milliseconds. */
const patienceMs = 1_000;

export interface Locks {
  readonly redlock: Redlock;
  /** Closes the connections, once everything that was sent has been answered. To be called when nothing is locked any more. */
  close(): Promise<void>;
}

/**
 * Connects to the lock servers. A server that cannot be reached is no reason to fail, as a majority will do; its client
 * goes on trying.
 *
 * @param urls of three or five independent servers, the same ones in every process
 */
export async function openLocks(urls: readonly string[], options?: RedlockOptions): Promise<Locks> {
  const clients = urls.map((url) => new Redis(url, { lazyConnect: true, connectTimeout: patienceMs }));
  for (const client of clients) client.on("error", () => {}); // the client connects again; the observer sees failing nodes
  await Promise.allSettled(clients.map((client) => client.connect()));
  const nodes = clients.map((client) => ioredisNode(client));
  return {
    redlock: new Redlock(nodes, options),
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      await Promise.all(clients.map(quit));
    },
  };
}

/** Commands are answered in their order, so that a release that was sent before has been done when this is. */
async function quit(client: Redis): Promise<void> {
  await Promise.race([client.quit(), sleep(patienceMs, undefined, { ref: false })]).catch(() => {});
  client.disconnect();
}

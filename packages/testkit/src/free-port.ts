import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * The ports to choose from. Systems take the ports of outgoing connections from above: Linux from 32 768, macOS and
 * Windows from 49 152. A port from there could be in use again before the caller listens. So could one from 20 000 to
 * 24 999: the servers of a Redis Cluster also listen on a port that is higher by 10 000 than their own. Those from 25 000
 * belong to the proxies of tests, which give theirs up for a while.
 */
const lowest = 10_000;
const highest = 14_999;

const given = new Set<number>();

/**
 * Finds a port of 127.0.0.1 that is free, and that this process has not found before. Another process may take it before
 * the caller does.
 */
export async function freePort(): Promise<number> {
  if (given.size > (highest - lowest) / 2) given.clear();
  for (;;) {
    const port = randomInt(lowest, highest + 1);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
  server.close();
  await once(server, "close");
  return true;
}

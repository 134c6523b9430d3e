import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";

const ttlMs = 10_000;
const retryMs = 200;
const release = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0';

/**
 * Locks as other Redlock libraries do: `SET key value PX ttl NX` on all servers, and a retry after 100 to 300 ms. Uses no
 * waiting lists, and publishes no notification.
 *
 * @returns a function that releases the lock
 */
export async function acquireAsOthersDo(clients: readonly Redis[], resource: string): Promise<() => Promise<void>> {
  const key = `lock:${resource}`;
  for (;;) {
    const value = randomBytes(16).toString("hex");
    const replies = await Promise.all(clients.map((client) => client.set(key, value, "PX", ttlMs, "NX")));
    const undo = async (): Promise<void> => {
      await Promise.all(clients.map((client) => client.eval(release, 1, key, value)));
    };
    if (replies.filter((reply) => reply === "OK").length > clients.length / 2) return undo;
    await undo();
    await sleep(retryMs * (0.5 + Math.random()));
  }
}

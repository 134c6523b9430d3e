import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { openNodes } from "./nodes.ts";
import type { Figures, ServerAddress } from "./plan.ts";
import { Heartbeat } from "./stall.ts";

const tryCount = 120_000;

/** Makes 120,000 calls of `tryAcquire` at once, while a lock is released. */
export async function measureTries(maxWaiters: number, servers: readonly ServerAddress[]): Promise<Figures> {
  const redlock = new Redlock(await openNodes(servers), { maxWaiters, ttlMs: 120_000, nodeTimeoutMs: 30_000 });
  const held = await redlock.acquire("held");
  const heartbeat = new Heartbeat();
  const startedAtMs = performance.now();
  let [locks, refused] = [0, 0];
  const tries = Array.from({ length: tryCount }, async (_, index) => {
    try {
      const lock = await redlock.tryAcquire(`k${index}`);
      if (lock === null) return;
      locks += 1;
      await lock.release();
    } catch {
      refused += 1;
    }
  });
  const releasedAtMs = performance.now();
  const release = held.release().then(() => performance.now() - releasedAtMs);
  const [releaseMs] = await Promise.all([release, ...tries]);
  const allMs = performance.now() - startedAtMs;
  await sleep(5);
  const each = (allMs * 1_000) / tryCount;
  return { each, refused, release: releaseMs, stall: heartbeat.longestMs, locks };
}

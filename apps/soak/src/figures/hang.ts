import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { openNodes } from "./nodes.ts";
import type { Figures, ServerAddress } from "./plan.ts";

const workerCount = 200;
const holdMs = 5;
const warmUpMs = 2_000;

/** Stops all servers for that time while 200 workers lock, and measures how the process recovers. */
export async function measureHang(ms: number, servers: readonly ServerAddress[]): Promise<Figures> {
  let resumedAtMs = Infinity;
  let firstLockMs = Infinity;
  let locksSince = 0;
  const acquired = (): void => {
    if (resumedAtMs === Infinity) return;
    firstLockMs = Math.min(firstLockMs, performance.now() - resumedAtMs);
    locksSince += 1;
  };
  const redlock = new Redlock(await openNodes(servers), { observer: { acquired } });
  for (let worker = 0; worker < workerCount; worker++) void work(redlock, `own${worker}`);
  await sleep(warmUpMs);
  const before = memoryMb();
  let peakMb = 0;
  const sampler = setInterval(() => {
    peakMb = Math.max(peakMb, process.memoryUsage().rss / 2 ** 20);
  }, 50);
  for (const { pid } of servers) process.kill(pid, "SIGSTOP");
  let owed: Memory;
  try {
    await sleep(ms);
    owed = memoryMb();
  } finally {
    for (const { pid } of servers) process.kill(pid, "SIGCONT");
  }
  resumedAtMs = performance.now();
  await sleep(4_000);
  clearInterval(sampler);
  const after = memoryMb();
  return {
    first: firstLockMs,
    owed: owed.usedMb - before.usedMb,
    peak: peakMb - before.rssMb,
    after: after.usedMb - before.usedMb,
    locks: locksSince,
  };
}

async function work(redlock: Redlock, resource: string): Promise<never> {
  for (;;) {
    try {
      const lock = await redlock.acquire(resource);
      await sleep(holdMs);
      await lock.release();
    } catch {
      await sleep(1);
    }
  }
}

interface Memory {
  /** Objects and buffers in use. */
  readonly usedMb: number;
  readonly rssMb: number;
}

function memoryMb(): Memory {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { usedMb: (heapUsed + external) / 2 ** 20, rssMb: rss / 2 ** 20 };
}

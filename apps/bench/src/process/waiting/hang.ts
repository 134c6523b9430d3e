import { setTimeout as sleep } from "node:timers/promises";
import { collectGarbage } from "@holdfast/app-kit/garbage";
import { type LockNode, Redlock } from "@holdfast/core";
import type { Figures } from "../../measure/measures.ts";

const workerCount = 200;
const holdMs = 5;
const warmUpMs = 2_000;
const lookMs = 4_000;

/** Stops all servers for that time while 200 workers lock, and measures how the process recovers. */
export async function measureHang(
  ms: number,
  servers: readonly { readonly pid: number }[],
  nodes: readonly LockNode[],
): Promise<Figures> {
  let resumedAtMs = Infinity;
  let firstLockMs = Infinity;
  const acquired = (): void => {
    if (resumedAtMs !== Infinity) firstLockMs = Math.min(firstLockMs, performance.now() - resumedAtMs);
  };
  const redlock = new Redlock(nodes, { observer: { acquired } });
  for (let worker = 0; worker < workerCount; worker++) void work(redlock, `own${worker}`);
  await sleep(warmUpMs);
  const before = memoryMb();
  let peakMb = 0;
  setInterval(() => {
    peakMb = Math.max(peakMb, process.memoryUsage().rss / 2 ** 20);
  }, 50);
  for (const { pid } of servers) process.kill(pid, "SIGSTOP");
  await sleep(ms);
  const owed = memoryMb();
  for (const { pid } of servers) process.kill(pid, "SIGCONT");
  resumedAtMs = performance.now();
  await sleep(lookMs);
  return {
    firstLockMs,
    owedMb: owed.usedMb - before.usedMb,
    peakMb: peakMb - before.rssMb,
    afterMb: memoryMb().usedMb - before.usedMb,
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

/** Objects and buffers in use, and the memory of the process. */
function memoryMb(): { readonly usedMb: number; readonly rssMb: number } {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { usedMb: (heapUsed + external) / 2 ** 20, rssMb: rss / 2 ** 20 };
}

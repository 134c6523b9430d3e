import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import { type Lock, Redlock } from "@holdfast/core";
import { openNodes } from "./nodes.ts";
import type { Figures, ServerAddress } from "./plan.ts";

const pausesMs = [10, 50, 80, 200, 500];

/** Moments between a call and its reply. */
const moments: readonly (() => Promise<unknown>)[] = [
  () => Promise.resolve(),
  async () => {
    for (let turn = 0; turn < 5; turn++) await null;
  },
  () => new Promise((resolve) => process.nextTick(resolve)),
  () => immediate(),
  () => sleep(0),
  () => sleep(1),
];

/** Stalls the process between call and reply, and counts the calls in which a healthy server then failed. */
export async function measurePauses(servers: readonly ServerAddress[]): Promise<Figures> {
  let failures = 0;
  const observer = {
    nodeFailed: () => {
      failures += 1;
    },
  };
  const redlock = new Redlock(await openNodes(servers), { nodeTimeoutMs: 50, observer });
  let [acquires, releases] = [0, 0];
  for (const pauseMs of pausesMs) {
    for (const moment of moments) {
      failures = 0;
      const acquired = redlock.tryAcquire("paused").catch(() => null);
      await moment();
      stop(pauseMs);
      let lock: Lock | null = await acquired;
      await sleep(5); // for the other replies
      if (failures > 0) acquires += 1;
      while (lock === null) lock = await redlock.tryAcquire("paused").catch(() => null);
      failures = 0;
      const released = lock.release();
      await moment();
      stop(pauseMs);
      await released.catch(() => {});
      await sleep(5);
      if (failures > 0) releases += 1;
    }
  }
  return { acquires, releases };
}

/** Blocks the event loop. */
function stop(ms: number): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs; );
}

import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import { type Lock, type LockNode, Redlock } from "@holdfast/core";
import type { Figures } from "../../measure/measures.ts";

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
export async function measurePauses(nodes: readonly LockNode[]): Promise<Figures> {
  let failures = 0;
  const observer = {
    nodeFailed: () => {
      failures += 1;
    },
  };
  const redlock = new Redlock(nodes, { nodeTimeoutMs: 50, observer });
  const tryOnce = (): Promise<Lock | null> => redlock.tryAcquire("paused").catch(() => null);
  /** Resolves with the result of the call, and with 1 if a server failed in it. */
  const stalled = async <T>(pauseMs: number, moment: () => Promise<unknown>, call: () => Promise<T>) => {
    failures = 0;
    const result = call();
    await moment();
    for (const endMs = performance.now() + pauseMs; performance.now() < endMs; );
    await result;
    await sleep(5); // for the other replies
    return [await result, Math.min(1, failures)] as const;
  };
  let [failedAcquires, failedReleases] = [0, 0];
  for (const pauseMs of pausesMs) {
    for (const moment of moments) {
      let [lock, acquireFailed] = await stalled(pauseMs, moment, tryOnce);
      failedAcquires += acquireFailed;
      while (lock === null) lock = await tryOnce();
      const { release } = lock;
      const [, releaseFailed] = await stalled(pauseMs, moment, () => release.call(lock).catch(() => {}));
      failedReleases += releaseFailed;
    }
  }
  return { failedAcquires, failedReleases };
}

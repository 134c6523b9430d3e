import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../contenders/contender.ts";
import { watchSent } from "../measure/sent.ts";
import { watchUsage } from "../measure/usage.ts";
import { type ContendOutcome, type ContendRequest, ttlMs } from "./calls.ts";
import { letWork } from "./workers.ts";

/** For those who wait at the end to have their turn: so the process is fit for use again. */
const graceMs = 1_000;

/** Lets workers acquire one key, hold it a while, and release it. */
export async function contend(client: Client, request: ContendRequest): Promise<ContendOutcome> {
  const { key, workers, holdMs, durationMs } = request;
  const locks = new Array<number>(workers).fill(0);
  const waitingSinceMs = new Array<number | undefined>(workers).fill(undefined);
  const waitsMs: number[] = [];
  let failed = 0;
  let settledLocks = 0;
  const endMs = performance.now() + durationMs;
  /** What happens after the end is not counted; a wait until then is. */
  const stopWaiting = (worker: number): void => {
    waitsMs.push(Math.min(performance.now(), endMs) - (waitingSinceMs[worker] as number));
    waitingSinceMs[worker] = undefined;
  };

  const step = async (worker: number): Promise<void> => {
    waitingSinceMs[worker] = performance.now();
    try {
      const release = await client.acquire([key], ttlMs);
      stopWaiting(worker);
      if (performance.now() <= endMs) locks[worker] = (locks[worker] ?? 0) + 1;
      await sleep(holdMs);
      await release();
      settledLocks += 1;
    } catch {
      if (waitingSinceMs[worker] !== undefined) stopWaiting(worker);
      if (performance.now() <= endMs) failed += 1;
      await sleep(holdMs); // a library that refuses at once is not to be asked in a busy loop
    }
  };

  const sent = watchSent();
  const usage = watchUsage();
  const stuck = await letWork(workers, durationMs, graceMs, step);
  for (const [worker, sinceMs] of waitingSinceMs.entries()) if (sinceMs !== undefined) stopWaiting(worker);
  const { commands } = sent();
  return { seconds: durationMs / 1_000, locks, settledLocks, waitsMs, failed, stuck, commands, ...usage() };
}

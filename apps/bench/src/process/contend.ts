import { setTimeout as sleep } from "node:timers/promises";
import { acquireOf, type Client } from "../contenders/contender.ts";
import { watchSent } from "../measure/sent.ts";
import { runWorkers } from "./workers.ts";

export interface ContendRequest {
  /** The number of the client in the process. Default: 0. */
  readonly client?: number;
  readonly keys: readonly string[];
  readonly workers: number;
  readonly holdMs: number;
  readonly durationMs: number;
}

/** The outcome of {@link contend}. */
export type ContendOutcome = Awaited<ReturnType<typeof contend>>;

/** Workers that still wait at the end get this time for their turn, so that the process can be used again. */
const graceMs = 1_000;

/** Lets workers acquire the same keys, hold them for a while, and release them. */
export async function contend(client: Client, { keys, workers, holdMs, durationMs }: ContendRequest) {
  const acquire = acquireOf(client, keys);
  const locks = new Array<number>(workers).fill(0);
  const waitingSinceMs = new Array<number | undefined>(workers).fill(undefined);
  const waitsMs: number[] = [];
  /** All locks, including those granted after the end. */
  let settledLocks = 0;
  let failed = 0;
  const endMs = performance.now() + durationMs;
  // Events after the end do not count; a wait until the end does.
  const stopWaiting = (worker: number): void => {
    waitsMs.push(Math.min(performance.now(), endMs) - (waitingSinceMs[worker] as number));
    waitingSinceMs[worker] = undefined;
  };

  const step = async (worker: number): Promise<void> => {
    waitingSinceMs[worker] = performance.now();
    try {
      const release = await acquire();
      stopWaiting(worker);
      if (performance.now() <= endMs) locks[worker] = (locks[worker] ?? 0) + 1;
      await sleep(holdMs);
      await release();
      settledLocks += 1;
    } catch {
      if (waitingSinceMs[worker] !== undefined) stopWaiting(worker);
      if (performance.now() <= endMs) failed += 1;
      await sleep(holdMs); // a library that rejects at once must not be called in a busy loop
    }
  };

  const sent = watchSent();
  const cpu = process.cpuUsage();
  const stuck = await runWorkers(workers, durationMs, graceMs, step);
  const { user, system } = process.cpuUsage(cpu);
  for (const [worker, sinceMs] of waitingSinceMs.entries()) if (sinceMs !== undefined) stopWaiting(worker);
  const { commands } = sent();
  const seconds = durationMs / 1_000;
  return { seconds, locks, settledLocks, waitsMs, failed, stuck, commands, cpuUs: user + system };
}

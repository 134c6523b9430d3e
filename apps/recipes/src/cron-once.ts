/**
 * A job that is started on many hosts at the same time runs once.
 *
 * The lock alone does not do that. A job that is quicker than the clocks of the hosts differ has released its lock before
 * the next host asks for it, and runs again. Keeping the lock for a minimum time helps only against hosts that are late
 * by less: not against one that was asleep. So the run is recorded, in a storage that checks tokens.
 */
import { type Lock, type Redlock, WaitTimeoutError } from "@holdfast/core";
import type { FencedValues } from "./fenced-values.ts";

/** How long to wait while another host runs the job, to run it if that host dies, in milliseconds. */
const waitTimeoutMs = 60_000;

/**
 * The time for which the job was started: the nearest of the schedule, as hosts start it a little too early or too late. One
 * that is later by more than half of a period counts for the next: where that happens, have the scheduler tell the time.
 *
 * @param firstMs any time of the schedule: `Date.UTC(2026, 0, 1, 12)`, with a period of a day, for noon
 */
export function slotOf(nowMs: number, everyMs: number, firstMs: number): number {
  return firstMs + Math.round((nowMs - firstMs) / everyMs) * everyMs;
}

/**
 * Runs the job unless it has run for this slot, or a later one.
 *
 * It is recorded when it has ended, so that another host runs it again where this one dies on the way: *at least* once,
 * and the job must be able to stand that. To have it at *most* once, write the record before the job runs.
 */
export async function runOnce(
  redlock: Redlock,
  records: FencedValues,
  job: string,
  slot: number,
  run: (lock: Lock) => Promise<void>,
): Promise<"ran" | "had run" | "still running elsewhere"> {
  const key = `cron:${job}`;
  try {
    return await redlock.using(key, { waitTimeoutMs }, async (lock) => {
      const [lastSlot] = await records.read([key], lock.fence);
      if (Number(lastSlot) >= slot) return "had run";
      await run(lock);
      await records.write({ [key]: String(slot) }, lock.fence);
      return "ran";
    });
  } catch (error) {
    if (error instanceof WaitTimeoutError) return "still running elsewhere";
    throw error;
  }
}

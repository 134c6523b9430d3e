/**
 * Runs a cron job once, although many hosts start it at the same time.
 *
 * The lock alone is not enough. If the clocks of the hosts differ by more than the job takes, the first host has released the
 * lock before the next one asks for it, and the job runs again. A minimum holding time does not help against a host that was
 * asleep. So the run is recorded, in a storage that checks tokens.
 */
import { type Lock, type Redlock, WaitTimeoutError } from "@holdfast/core";
import type { FencedValues } from "./fenced-values.ts";

/** How long to wait, in milliseconds, for a host that runs the job. If that host dies, this one takes over. */
const waitTimeoutMs = 60_000;

/**
 * Returns the slot of the schedule that is nearest to now, because hosts start a job slightly early or late. A start that is
 * late by more than half a period counts for the next slot; if that can happen, let the scheduler pass the slot.
 *
 * @param firstMs any time of the schedule, such as `Date.UTC(2026, 0, 1, 12)` for every noon
 */
export function slotOf(nowMs: number, everyMs: number, firstMs: number): number {
  return firstMs + Math.round((nowMs - firstMs) / everyMs) * everyMs;
}

/**
 * Runs the job unless it has run for this slot, or a later one.
 *
 * The record is written after the job, so that another host runs it again if this one dies: *at least* once. The job must
 * tolerate that. For *at most* once, write the record before the job runs.
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

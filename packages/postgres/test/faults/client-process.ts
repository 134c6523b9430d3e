/* A process whose workers lock overlapping sets of resources, and report each lock, until it is killed. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Lock, Redlock } from "@holdfast/core";
import { postgresNode } from "@holdfast/postgres";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import pg from "pg";
import { someResources } from "./resources.ts";

/** A report of this process: a lock, or a new end of a lock that was reported before. */
export interface LockReport {
  /** Identifies the lock. */
  readonly owner: string;
  readonly resources: readonly string[];
  readonly fence: number;
  /** When the holder had the lock, on the monotonic clock of the machine. */
  readonly fromMs: number;
  /** When the holder will have stopped to rely on it, or has. */
  readonly untilMs: number;
}

const [connectionString = "", ttl = ""] = process.argv.slice(2);
const ttlMs = Number(ttl);
const pool = new pg.Pool({ connectionString, max: 3 });
pool.on("error", () => {});
const redlock = new Redlock([postgresNode(pool)], { ttlMs, nodeTimeoutMs: ttlMs / 2, waitTimeoutMs: Infinity });
process.on("disconnect", () => process.exit());

await Promise.all(Array.from({ length: 4 }, work));

async function work(): Promise<never> {
  for (;;) {
    const lock = await redlock.acquire(someResources()).catch(() => undefined);
    if (lock === undefined) continue;
    const { owner, resources, fence } = lock;
    const report = { owner, resources, fence, fromMs: monotonicMs() };
    let untilMs = endOf(lock);
    // The process may have been stopped since the lock was granted.
    if (untilMs === 0) continue;
    await send({ ...report, untilMs });
    await sleep(Math.random() * 5);
    if (Math.random() < 0.2) {
      await lock.extend().catch(() => {});
      untilMs = Math.max(untilMs, endOf(lock));
      await send({ ...report, untilMs });
    }
    await send({ ...report, untilMs: Math.min(untilMs, monotonicMs()) });
    await lock.release().catch(() => {});
  }
}

/** Returns a time until which the lock may be relied on: 0 if it is lost. */
function endOf(lock: Lock): number {
  const nowMs = monotonicMs();
  const remainingMs = lock.remainingMs();
  return remainingMs > 0 ? nowMs + remainingMs : 0;
}

/** Resolves when the report has left this process, which may be killed at any time. */
function send(report: LockReport): Promise<void> {
  return new Promise((resolve) => process.send?.(report, undefined, undefined, () => resolve()));
}

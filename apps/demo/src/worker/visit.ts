import { setTimeout as sleep } from "node:timers/promises";
import type { LockOptions } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { counterOf, type Database } from "../database/database.ts";
import type { Emit } from "../events.ts";
import type { Resource } from "../setup.ts";
import type { HeldLock, Locker } from "./locker.ts";

/** What a worker works with. */
export interface Workplace {
  readonly worker: string;
  readonly locker: Locker;
  readonly database: Database;
  readonly emit: Emit;
  /** Ends waiting and working when it aborts. */
  readonly stop: AbortSignal;
}

/** What a worker does between its read and its write. */
export type Dwell = (lock: HeldLock) => Promise<void>;

/**
 * Waits for the lock, and increments the counter under it by a read, a pause and a write: if two ever did that at the
 * same time, an update would be lost.
 */
export async function visit(
  place: Workplace,
  resource: Resource,
  dwell: Dwell,
  options: LockOptions = {},
): Promise<void> {
  const { worker, locker, emit, stop } = place;
  const calledAtMs = monotonicMs();
  emit({ kind: "waiting", worker, resource: resource.name });
  try {
    await locker(resource.name, { label: worker, signal: stop, ...options }, async (lock) => {
      const waitedMs = monotonicMs() - calledAtMs;
      emit({ kind: "entered", worker, resource: resource.name, fence: lock.fence, waitedMs });
      await increment(place, resource, lock, dwell);
    });
  } catch (error) {
    emit({ ...failureOf(error, stop), worker, resource: resource.name });
  }
}

async function increment(
  { worker, database, emit }: Workplace,
  { name, fenced }: Resource,
  lock: HeldLock,
  dwell: Dwell,
): Promise<void> {
  const enteredAtMs = monotonicMs();
  const { fence, signal } = lock;
  const counter = counterOf(database, name, fence, fenced);
  let validUntilMs = enteredAtMs + lock.remainingMs();
  // A lock may be given up a little before the end that it foretold, as the clock that knows of suspensions ticks in
  // whole milliseconds.
  const shorten = (): void => {
    validUntilMs = Math.min(validUntilMs, monotonicMs());
  };
  signal.addEventListener("abort", shorten, { once: true });
  let readAtMs: number | null = null;
  let wroteAtMs: number | null = null;
  let write: "accepted" | "refused" | "none" = "none";
  let newestFence: number | null = null;
  try {
    const seen = await counter.read();
    if (seen.accepted) {
      readAtMs = monotonicMs();
      await dwell(lock);
      wroteAtMs = monotonicMs();
      const remainingMs = lock.remainingMs();
      if (remainingMs > 0) validUntilMs = wroteAtMs + remainingMs;
      const reply = await counter.write(seen.value + 1);
      write = reply.accepted ? "accepted" : "refused";
      if (!reply.accepted) newestFence = reply.newestFence;
    } else {
      write = "refused";
      newestFence = seen.newestFence;
    }
  } finally {
    signal.removeEventListener("abort", shorten);
    const leftAtMs = monotonicMs();
    const moments = { enteredAtMs, leftAtMs, validUntilMs, readAtMs, wroteAtMs };
    emit({ kind: "left", visit: { worker, resource: name, fence, ...moments, write, newestFence } });
  }
}

/** Sleeps so long, or until the signal aborts; it does not throw. */
export async function sleepUnless(signal: AbortSignal, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

type Failure =
  | { readonly kind: "stopped-waiting" | "timed-out" }
  | { readonly kind: "unreachable" | "lock-lost"; readonly message: string };

/** Tells what a worker has to live with, in a distributed system, from a fault, which it throws. */
function failureOf(error: unknown, stop: AbortSignal): Failure {
  if (stop.aborted && error === stop.reason) return { kind: "stopped-waiting" };
  const { code, message } = error as { readonly code?: unknown; readonly message: string };
  if (code === "LOCK_LOST") return { kind: "lock-lost", message };
  if (code === "WAIT_TIMEOUT") return { kind: "timed-out" };
  if (code === "QUORUM_UNREACHABLE") return { kind: "unreachable", message };
  throw error;
}

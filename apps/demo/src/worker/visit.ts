import { setTimeout as sleep } from "node:timers/promises";
import type { LockOptions } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { counterOf, type Database } from "../database/database.ts";
import type { Emit } from "../events.ts";
import type { Resource } from "../setup.ts";
import type { HeldLock, Locker } from "./locker.ts";

/** The surroundings of a worker. */
export interface Workplace {
  readonly worker: string;
  readonly locker: Locker;
  readonly database: Database;
  readonly emit: Emit;
  /** Aborts when the worker must stop. */
  readonly stop: AbortSignal;
}

/** The work between read and write. */
export type Dwell = (lock: HeldLock) => Promise<void>;

/**
 * Waits for the lock, and increments the counter by a read, a pause and a write. If two workers ever did that at the same
 * time, an update would be lost.
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
  // A lock may end slightly before the end of its validity, because the clock that counts suspensions ticks in whole
  // milliseconds.
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

/** Sleeps for that time, or until the signal aborts. Never rejects. */
export async function sleepUnless(signal: AbortSignal, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

type Failure =
  | { readonly kind: "stopped-waiting" | "timed-out" }
  | { readonly kind: "unreachable" | "lock-lost"; readonly message: string };

/** Describes a failure that a distributed system must expect. Throws any other error. */
function failureOf(error: unknown, stop: AbortSignal): Failure {
  if (stop.aborted && error === stop.reason) return { kind: "stopped-waiting" };
  const { code, message } = error as { readonly code?: unknown; readonly message: string };
  if (code === "LOCK_LOST") return { kind: "lock-lost", message };
  if (code === "WAIT_TIMEOUT") return { kind: "timed-out" };
  if (code === "QUORUM_UNREACHABLE") return { kind: "unreachable", message };
  throw error;
}

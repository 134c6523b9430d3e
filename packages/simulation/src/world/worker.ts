import { HoldfastError, type Lock, type LockOptions, RedlockClosedError } from "@holdfast/core";
import type { HeldRecord } from "../history/recorder.ts";
import type { Waiter, Waiters } from "../history/waiters.ts";
import type { Operation } from "../scenario/scenario.ts";
import type { Session, StagedClient } from "./staged-client.ts";
import type { Target } from "./storage.ts";

/** The abort reason of a caller that gives up. */
const gaveUp = new Error("gave up waiting");

/** Performs operations one after another. */
export async function work(place: StagedClient, operations: readonly Operation[]): Promise<void> {
  const { process, recorder } = place;
  for (const operation of operations) {
    if (operation.afterMs !== undefined) await process.sleep(operation.afterMs);
    try {
      await perform(place, operation);
    } catch (error) {
      if (error instanceof HoldfastError || error === gaveUp) {
        recorder.log(process.nowMs, process.name, () => `${operation.by}() rejects: ${(error as Error).message}`);
      } else {
        recorder.misbehaved(process.nowMs, process.name, `${operation.by}() rejects with ${error}`);
      }
    }
    recorder.operations += 1;
  }
}

/** Performs an operation in the present session, and again in the next one if the session was closed before its lock. */
async function perform(place: StagedClient, operation: Operation): Promise<void> {
  for (;;) {
    const { session } = place;
    place.begin(session);
    try {
      return await performIn(place, session, operation);
    } catch (error) {
      if (!(error instanceof RedlockClosedError) || session === place.session) throw error;
    } finally {
      place.end(session);
    }
  }
}

async function performIn(place: StagedClient, session: Session, operation: Operation): Promise<void> {
  const { process } = place;
  const { redlock, waiters } = session;
  const { by, resources, mode, abortAfterMs } = operation;
  const controller = abortAfterMs === undefined ? undefined : new AbortController();
  const cancelAbort = controller && process.startTimer(abortAfterMs ?? 0, () => controller.abort(gaveUp));
  const options = { ...optionsOf(operation), signal: controller?.signal };
  const waiter = waiters.enter({ resources, mode, timeoutMs: timeoutMsOf(operation) });
  place.recorder.tracer?.calls(process.name, waiter);
  try {
    if (by === "using") {
      await redlock.using(resources, options, (lock) => hold(place, operation, lock, waiters, waiter));
      return;
    }
    const lock = await redlock[by](resources, options);
    if (lock !== null) {
      const record = await hold(place, operation, lock, waiters, waiter);
      await finish(operation, lock, record);
    }
  } finally {
    waiters.leave(waiter);
    cancelAbort?.();
  }
}

/** How long the caller waits at most. */
function timeoutMsOf({ by, waitTimeoutMs = Infinity, abortAfterMs = Infinity }: Operation): number {
  return by === "tryAcquire" ? 0 : Math.min(waitTimeoutMs, abortAfterMs);
}

function optionsOf({ mode, ttlMs, waitTimeoutMs, autoExtend, maxHoldMs }: Operation): LockOptions {
  return { mode, ttlMs, waitTimeoutMs, autoExtend, maxHoldMs };
}

/** Updates what the lock protects while the lock is valid, and takes nested locks. */
async function hold(
  place: StagedClient,
  operation: Operation,
  lock: Lock,
  waiters: Waiters,
  waiter: Waiter,
): Promise<HeldRecord> {
  const { process, recorder, settings } = place;
  const record = recorder.granted(process, lock, { mode: waiter.mode, trust: settings.trust });
  waiters.succeed(waiter, record.attempt, lock.owner);
  try {
    for (let update = 0; update < (operation.updates ?? 1); update++) {
      const thinkMs = thinkMsOf(operation, update);
      for (const resource of operation.resources) {
        const target = { lock: record, resource, forgetsToken: operation.forgetsToken ?? false };
        if (!(await updateOnce(place, thinkMs, target))) return record;
      }
      if (operation.extendMs !== undefined) await lock.extend({ ttlMs: operation.extendMs });
    }
    if (operation.under !== undefined) {
      await work(place, operation.under);
      record.look(settings.marginMs);
    }
    return record;
  } finally {
    record.end();
    recorder.log(process.nowMs, process.name, () => `is done with lock ${record.attempt}`);
  }
}

function thinkMsOf({ thinkMs = 1 }: Operation, update: number): number {
  return typeof thinkMs === "number" ? thinkMs : (thinkMs[update] ?? 1);
}

/**
 * Reads, thinks, and writes, or reads again under a shared lock. Looks at the lock before each access, and returns false
 * if it was no longer valid.
 */
async function updateOnce(
  { process, storage, settings }: StagedClient,
  thinkMs: number,
  target: Target,
): Promise<boolean> {
  const { lock } = target;
  if (!lock.look(settings.marginMs)) return false;
  const seen = await storage.read(target);
  await process.sleep(thinkMs);
  if (!lock.look(settings.marginMs)) return false;
  if (lock.mode === "shared") await storage.readAgain(target, seen);
  else await storage.write(target, seen);
  return true;
}

async function finish({ end = "release" }: Operation, lock: Lock, record: HeldRecord): Promise<void> {
  if (end === "forget") {
    record.forget();
    return;
  }
  const releases = end === "release" ? [lock.release()] : [lock.release(), lock.release()];
  await Promise.all(releases);
  if (end === "release twice") await lock.release();
}

/**
 * Admits at most k callers at a time, over all processes, to an API with such a limit.
 *
 * There are k locks, one for each slot, and a caller takes any of them. A semaphore that counts permits on each server, and
 * admits a caller who has a majority, admits too many. With three servers and two permits on each, A takes servers 1 and 2, B
 * 2 and 3, and C 1 and 3: three holders of two permits, without any fault. A lock is one permit on each server, and any two
 * majorities overlap.
 */
import { type Lock, type Redlock, WaitTimeoutError } from "@holdfast/core";

/** How long to wait for one slot before trying all of them again, in milliseconds. */
const lookAgainMs = 200;

export interface SlotOptions {
  /** The number of slots. Trying all of them takes a round trip each, so it should be in the tens at most. */
  readonly slots: number;
  /** How long to wait for a slot, in milliseconds. */
  readonly waitTimeoutMs: number;
  /** Stops the wait when it aborts. */
  readonly signal?: AbortSignal;
}

/**
 * Calls the API in one of its slots, and keeps the slot until the call has ended.
 *
 * If the API limits calls per *second*, let the slots expire instead: acquire them with `ttlMs: 1_100`, since a lock ends
 * slightly before its ttl, without `autoExtend`, and do not release them.
 *
 * @throws {WaitTimeoutError} when no slot was free in time
 * @throws {LockLostError} when the call succeeded, but the slot was lost meanwhile. Errors of the call are passed on
 */
export async function inSlot<T>(
  redlock: Redlock,
  api: string,
  options: SlotOptions,
  call: (slot: Lock) => Promise<T>,
): Promise<T> {
  await using slot = await acquireSlot(redlock, api, options);
  const result = await call(slot);
  slot.signal.throwIfAborted();
  return result;
}

async function acquireSlot(redlock: Redlock, api: string, options: SlotOptions): Promise<Lock> {
  const { slots, waitTimeoutMs, signal } = options;
  const deadlineMs = performance.now() + waitTimeoutMs;
  const lockOptions = { autoExtend: true, signal };
  for (;;) {
    // In random order, so that callers do not all meet at the first slot.
    const names = shuffled(Array.from({ length: slots }, (_, index) => `${api}:slot:${index}`));
    for (const name of names) {
      const slot = await redlock.tryAcquire(name, lockOptions);
      if (slot !== null) return slot;
    }
    const leftMs = Math.max(1, deadlineMs - performance.now());
    try {
      return await redlock.acquire(names[0] as string, {
        ...lockOptions,
        waitTimeoutMs: Math.min(lookAgainMs, leftMs),
      });
    } catch (error) {
      if (!(error instanceof WaitTimeoutError) || leftMs <= lookAgainMs) throw error;
    }
  }
}

function shuffled(names: readonly string[]): string[] {
  return names
    .map((name) => ({ name, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ name }) => name);
}

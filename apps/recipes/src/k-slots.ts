/**
 * No more than k callers at a time, of all processes together: for an API that allows so many.
 *
 * There are k locks, one for each slot, and a caller takes any. A semaphore that counts on each server instead, where a
 * caller needs a majority of servers with a permit left, lets too many in. With three servers and two permits on each,
 * there are six to be had, and two of them make a majority: A takes servers 1 and 2, B 2 and 3, C 1 and 3. That is three
 * holders of two permits, without any fault. A lock is one permit on each server, and no two majorities are disjoint.
 */
import { type Lock, type Redlock, WaitTimeoutError } from "@holdfast/core";

/** How long to wait for one slot before looking at all of them again, in milliseconds. */
const lookAgainMs = 200;

export interface SlotOptions {
  /** How many callers may be inside at a time. Looking at all of them is a round trip each: meant for tens. */
  readonly slots: number;
  /** How long to wait for a slot, in milliseconds. */
  readonly waitTimeoutMs: number;
  /** Gives up waiting when it aborts. */
  readonly signal?: AbortSignal;
}

/**
 * Calls the API in one of its slots, which is kept until the call has ended.
 *
 * Where the API allows so many calls a *second* rather than at a time, let slots end by themselves instead: acquire them
 * with `ttlMs: 1_100`, as a lock ends a little before its ttl, without `autoExtend`, and do not release them.
 *
 * @throws {WaitTimeoutError} when no slot was free in time
 * @throws {LockLostError} when the call went well, but the slot had been lost meanwhile; and what the call throws
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
    // In random order: callers that all began with the first one would meet there.
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

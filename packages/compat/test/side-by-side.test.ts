/** Processes with the old libraries, and those with these, exclude each other: over the same servers, in both roles. */
import * as oldSesamecare from "@sesamecare-oss/redlock";
import * as oldSemaphore from "redis-semaphore";
import OldRedlock4 from "redlock4";
import OldRedlock5 from "redlock5";
import { describe, expect, test, vi } from "vitest";
import * as semaphores from "../src/redis-semaphore.ts";
import * as redlock5 from "../src/redlock.ts";
import * as redlock4 from "../src/redlock-4.ts";
import * as sesamecare from "../src/sesamecare-redlock.ts";
import { startServers, valuesOf } from "./servers.ts";

const { clients } = await startServers(3);
const durationMs = 60_000;
const retryCount = 0;
const options = { acquireAttemptsLimit: 1 };

/** Makes one attempt, and resolves with a function that releases the lock, or with null. */
type TryLock = (key: string) => Promise<(() => Promise<unknown>) | null>;

const byRedlock5 = (redlock: Pick<redlock5.Redlock, "acquire">): TryLock =>
  tryTo((key) => redlock.acquire([key], durationMs));
const byRedlock4 = (redlock: {
  lock(key: string, ttl: number): PromiseLike<{ unlock(): PromiseLike<void> }>;
}): TryLock =>
  tryTo(async (key) => {
    const lock = await redlock.lock(key, durationMs);
    return { release: async () => lock.unlock() };
  });
const byMutex = (create: (key: string) => { acquire(): Promise<void>; release(): Promise<void> }): TryLock =>
  tryTo(async (key) => {
    const mutex = create(key);
    await mutex.acquire();
    return mutex;
  });

function tryTo(acquire: (key: string) => Promise<{ release(): Promise<unknown> }>): TryLock {
  return async (key) => {
    try {
      const lock = await acquire(key);
      return () => lock.release();
    } catch (error) {
      if (["ExecutionError", "LockError", "TimeoutError"].includes((error as Error).constructor.name)) return null;
      throw error;
    }
  };
}

describe.each([
  [
    "redlock 5",
    "",
    byRedlock5(new redlock5.Redlock(clients, { retryCount })),
    byRedlock5(new OldRedlock5(clients, { retryCount }) as never),
  ],
  [
    "redlock 4",
    "",
    byRedlock4(new redlock4.Redlock(clients, { retryCount })),
    byRedlock4(new OldRedlock4(clients as never, { retryCount })),
  ],
  [
    "@sesamecare-oss/redlock",
    "",
    byRedlock5(new sesamecare.Redlock(clients, { retryCount })),
    byRedlock5(new oldSesamecare.Redlock(clients, { retryCount }) as never),
  ],
  [
    "RedlockMutex of redis-semaphore",
    "mutex:",
    byMutex((key) => new semaphores.RedlockMutex(clients, key, options)),
    byMutex((key) => new oldSemaphore.RedlockMutex(clients, key, options)),
  ],
])("%s", (name, prefix, ours, theirs) => {
  test.each([
    ["old", "new", theirs, ours],
    ["new", "old", ours, theirs],
  ])("a lock of an %s process keeps a %s one out until its release", async (_one, other, holder, rival) => {
    const key = `${name}-${other}`;
    const release = await holder(key);
    expect(release).not.toBeNull();
    const isOnAll = async (): Promise<boolean> => !(await valuesOf(clients, prefix + key)).includes(null);
    await vi.waitUntil(isOnAll, { timeout: 10_000 });
    expect(await rival(key)).toBeNull();
    await release?.();
    await expect.poll(() => valuesOf(clients, prefix + key)).toEqual([null]);
    await (await rival(key))?.();
  });
});

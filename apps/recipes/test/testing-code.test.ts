import { LockLostError, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

// The code to test. It is given its Redlock, and stops when the lock is lost.
async function bill(redlock: Redlock, steps: readonly (() => Promise<void>)[]): Promise<"billed" | "busy"> {
  const lock = await redlock.tryAcquire("billing", { autoExtend: true });
  if (lock === null) return "busy";
  try {
    for (const step of steps) {
      lock.signal.throwIfAborted();
      await step();
    }
    return "billed";
  } finally {
    await lock.release();
  }
}

const minute = () => new Promise<void>((resolve) => setTimeout(resolve, 60_000));

// A node in memory for each test.
let node = memoryNode();
let redlock = new Redlock([node]);

beforeEach(() => {
  vi.useFakeTimers();
  node = memoryNode();
  redlock = new Redlock([node]);
});

afterEach(async () => {
  await redlock.close();
  vi.useRealTimers();
});

test("an hour of work takes no time", async () => {
  const billing = bill(redlock, Array(60).fill(minute));
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(await billing).toBe("billed");
});

test("somebody else holds the lock", async () => {
  const other = new Redlock([node]); // another process
  const lock = await other.acquire("billing", { label: "host-2" });
  expect(await bill(redlock, [minute])).toBe("busy");
  await lock.release();
  expect(await bill(redlock, [])).toBe("billed");
});

test("the lock expires, and somebody else gets it", async () => {
  const lock = await redlock.acquire("billing", { ttlMs: 10_000 });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lock.signal.reason).toBeInstanceOf(LockLostError);
  expect(await new Redlock([node]).tryAcquire("billing")).not.toBe(null);
});

test("the lock is lost while the work is under way", async () => {
  const billing = bill(redlock, Array(60).fill(minute));
  await vi.advanceTimersByTimeAsync(90_000);
  const { owner } = await node.inspect("billing");
  await node.release({ resources: ["billing"], owner: String(owner), timeoutMs: 100 }); // an operator ends it
  const outcome = expect(billing).rejects.toMatchObject({ code: "LOCK_LOST", reason: "not-held" });
  await vi.advanceTimersByTimeAsync(90_000);
  await outcome;
});

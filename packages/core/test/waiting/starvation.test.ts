import type { Redlock } from "@holdfast/core";
import { describe, expect, it, vi } from "vitest";
import { crowd, dice } from "../support/crowd.ts";

/**
 * Lets five workers repeatedly lock `a`, five lock `b`, and one lock both, for 5 ms each.
 *
 * @param processes the number of processes; the last one has the worker that wants both
 * @param travelMs how long a message travels, in milliseconds
 */
async function contend(processes: number, travelMs: number) {
  const { clock, redlocks, pause } = crowd(processes, 5, () => travelMs);
  const endMs = 3000;
  const inside = new Set<string>();
  const work = async (redlock: Redlock, names: string[]): Promise<{ locks: number; longestWaitMs: number }> => {
    const result = { locks: 0, longestWaitMs: 0 };
    while (clock.monotonicMs() < endMs) {
      const calledAtMs = clock.monotonicMs();
      const lock = await redlock.acquire(names);
      result.longestWaitMs = Math.max(result.longestWaitMs, clock.monotonicMs() - calledAtMs);
      result.locks += 1;
      for (const name of names) {
        expect(inside.has(name)).toBe(false);
        inside.add(name);
      }
      await pause(5);
      for (const name of names) inside.delete(name);
      await lock.release();
    }
    return result;
  };
  const others = Array.from({ length: 10 }, (_, index) =>
    work(redlocks[index % Math.max(1, processes - 1)] as Redlock, [index < 5 ? "a" : "b"]),
  );
  const both = work(redlocks.at(-1) as Redlock, ["a", "b"]);
  const results = await clock.until(Promise.all(others), 60_000);
  const ofBoth = await clock.until(both, 60_000);
  await clock.advance(20_000);
  expect(clock.pendingTimers).toBe(0);
  const locksOfOthers = results.reduce((sum, { locks }) => sum + locks, 0);
  const longestWaitMs = Math.max(...results.map((each) => each.longestWaitMs));
  return { ofBoth, locksOfOthers, longestWaitMs };
}

describe("a waiter for two resources that are always wanted (W2)", { timeout: 30_000 }, () => {
  it.each([
    [1, 0],
    [1, 0.2],
    [2, 0],
    [2, 0.2],
    [3, 0.2],
  ])(
    "acquire() gets at least one lock per 50 of the others: %i processes, nodes %f ms away",
    async (processes, travelMs) => {
      const { ofBoth, locksOfOthers, longestWaitMs } = await contend(processes, travelMs);
      expect(ofBoth.locks).toBeGreaterThan(locksOfOthers / 50);
      expect(ofBoth.longestWaitMs).toBeLessThan(1000);
      expect(longestWaitMs).toBeLessThan(1000);
      expect(locksOfOthers).toBeGreaterThan(400);
    },
  );
});

describe("a process that competes with one that announces nothing (W2)", { timeout: 30_000 }, () => {
  it("acquire() gets its share, although the other process retries right after each release", async () => {
    vi.spyOn(Math, "random").mockImplementation(dice(7));
    const { clock, inner, redlocks, pause } = crowd(1, 3, () => 0.2);
    const [redlock] = redlocks as [Redlock];
    const endMs = 20_000;
    let number = 0;
    /** Repeatedly holds the resource for 5 ms, like a client that does not support waiting lists. */
    const silent = async (): Promise<void> => {
      while (clock.monotonicMs() < endMs) {
        number += 1;
        const claim = { resources: ["r"], owner: `silent ${number}`, timeoutMs: 50 };
        await pause(0.2);
        const acquire = { ...claim, ttlMs: 10_000, fenceHint: 1 };
        const replies = await Promise.all(inner.map((node) => node.acquire(acquire)));
        await pause(0.2);
        const isHeld = replies.filter(({ granted }) => granted).length >= 2;
        await pause(isHeld ? 5 : 0);
        await Promise.all(inner.map((node) => node.release({ ...claim, undo: true })));
        await pause(isHeld ? 0.4 : 200 * Math.random());
      }
    };
    let longestWaitMs = 0;
    const work = async (): Promise<void> => {
      while (clock.monotonicMs() < endMs) {
        const calledAtMs = clock.monotonicMs();
        const lock = await redlock.acquire("r");
        longestWaitMs = Math.max(longestWaitMs, clock.monotonicMs() - calledAtMs);
        await pause(5);
        await lock.release();
      }
    };
    await clock.until(Promise.all([silent(), work()]), 60_000);
    expect(longestWaitMs).toBeLessThan(2000);
  });
});

import { Redlock, WaitTimeoutError } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { expect, test } from "vitest";
import { inSlot } from "../src/k-slots.ts";
import { openTestLocks, startWorld } from "./world.ts";

test("inSlot() admits as many callers of all processes as there are slots, and no more", async () => {
  const world = await startWorld();
  const all = await Promise.all([1, 2].map(() => openTestLocks(world)));
  const options = { slots: 3, waitTimeoutMs: 60_000 };
  let [inside, most, calls] = [0, 0, 0];
  let open = (): void => {};
  const full = new Promise<void>((resolve) => {
    open = resolve;
  });
  const call = async (): Promise<number> => {
    inside += 1;
    most = Math.max(most, inside);
    if (inside === options.slots) open();
    await full; // until all slots are taken
    await world.data.incr("calls"); // and for a round trip
    inside -= 1;
    return ++calls;
  };
  const results = [1, 2, 3, 4, 5].flatMap(() => all.map(({ redlock }) => inSlot(redlock, "api", options, call)));
  expect((await Promise.all(results)).sort((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(most).toBe(3);
  await expect.poll(() => world.locksLeft()).toEqual([]);
});

test("inSlot() rejects when no slot is free in time or its signal aborts, and takes a slot that becomes free", async () => {
  const redlock = new Redlock([memoryNode(), memoryNode(), memoryNode()]);
  const slots = 2;
  let leave = (): void => {};
  const staying = [1, 2].map(() => {
    return inSlot(redlock, "api", { slots, waitTimeoutMs: 1_000 }, ({ resources }) => {
      return new Promise<readonly string[]>((resolve) => {
        leave = () => resolve(resources);
      });
    });
  });
  await expect.poll(() => redlock.inspect("api:slot:0")).toMatchObject({ state: "held" });
  await expect.poll(() => redlock.inspect("api:slot:1")).toMatchObject({ state: "held" });

  const nothing = () => Promise.resolve();
  await expect(inSlot(redlock, "api", { slots, waitTimeoutMs: 300 }, nothing)).rejects.toThrow(WaitTimeoutError);
  const signal = AbortSignal.abort(new Error("never mind"));
  await expect(inSlot(redlock, "api", { slots, waitTimeoutMs: 60_000, signal }, nothing)).rejects.toThrow("never mind");

  const waiting = inSlot(redlock, "api", { slots, waitTimeoutMs: 60_000 }, async (slot) => slot.resources);
  leave();
  const left = await Promise.race(staying);
  expect(await waiting).toEqual(left);
});

/** Returns the largest number of holders when each takes a majority of the nodes, and each node has that many permits. */
function mostHolders(nodeCount: number, permits: number): number {
  const majority = Math.floor(nodeCount / 2) + 1;
  const sets = Array.from({ length: 2 ** nodeCount }, (_, bits) => {
    return Array.from({ length: nodeCount }, (_, node) => (bits >> node) & 1);
  });
  const majorities = sets.filter((set) => set.reduce((sum, bit) => sum + bit, 0) === majority);
  const fill = (free: readonly number[], from: number): number => {
    let most = 0;
    for (const [index, set] of majorities.entries()) {
      const left = free.map((permits, node) => permits - (set[node] as number));
      if (index >= from && left.every((permits) => permits >= 0)) most = Math.max(most, 1 + fill(left, index));
    }
    return most;
  };
  return fill(
    Array.from({ length: nodeCount }, () => permits),
    0,
  );
}

test("a quorum semaphore that counts permits on each node admits more holders than it has permits, a lock never", () => {
  expect(mostHolders(3, 2)).toBe(3);
  expect(mostHolders(3, 4)).toBe(6);
  expect(mostHolders(5, 2)).toBe(3);
  expect(mostHolders(5, 3)).toBe(5);
  for (const nodeCount of [1, 2, 3, 4, 5]) expect(mostHolders(nodeCount, 1)).toBe(1);
});

import type { Redlock } from "@holdfast/core";
import { isNightly } from "@holdfast/testkit";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Crowd, crowd as crowdWith, dice } from "../support/crowd.ts";

/** Clients whose messages all take a moment, and some of them longer. */
function crowd(clientCount: number, nodeCount: number): Crowd {
  const random = dice(1);
  return crowdWith(clientCount, nodeCount, () => 0.1 + random() * (random() < 0.05 ? 1 : 0.1));
}

/** Returns Jain's fairness index: 1 if all have the same share, 1/n if one has everything. */
function fairness(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  return sum ** 2 / (shares.length * shares.reduce((total, share) => total + share ** 2, 0));
}

/** Lets workers of all clients repeatedly hold the same lock for a millisecond. */
async function contend({ clock, redlocks, pause }: Crowd, workers: number, forMs: number) {
  const locks = redlocks.map(() => 0);
  const waitsMs: number[] = [];
  let inside = 0;
  const work = async (redlock: Redlock, client: number): Promise<void> => {
    while (clock.monotonicMs() < forMs) {
      const calledAtMs = clock.monotonicMs();
      const lock = await redlock.acquire("hot");
      waitsMs.push(clock.monotonicMs() - calledAtMs);
      locks[client] = (locks[client] ?? 0) + 1;
      inside += 1;
      expect(inside).toBe(1);
      await pause(1);
      inside -= 1;
      await lock.release();
    }
  };
  const all = redlocks.flatMap((redlock, client) => Array.from({ length: workers }, () => work(redlock, client)));
  await clock.until(Promise.all(all), 10 * forMs + 120_000);
  return { locks, longestWaitMs: Math.max(...waitsMs), count: waitsMs.length };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("fairness between processes", () => {
  // Random names break ties in the waiting lists.
  beforeEach(() => {
    vi.spyOn(Math, "random").mockImplementation(dice(7));
    const random = dice(11);
    vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => {
      if (bytes instanceof Uint8Array) for (const index of bytes.keys()) bytes[index] = random() * 256;
      return bytes;
    });
  });

  it.each(isNightly ? [1, 2, 3, 4, 5] : [2])(
    "acquire() shares a lock on %i nodes evenly between eight processes of ten workers, at little cost",
    async (nodeCount) => {
      const it = crowd(8, nodeCount);
      const { locks, longestWaitMs, count } = await contend(it, 10, 2000);
      expect(count).toBeGreaterThan(1000);
      expect(fairness(locks)).toBeGreaterThan(0.95);
      expect(longestWaitMs).toBeLessThan(1000);
      for (let node = 0; node < nodeCount; node++) {
        const calls = it.clients.flatMap(({ nodes }) => nodes[node]?.calls ?? []);
        expect(calls.length / count).toBeLessThan(1.6);
      }
      await it.clock.advance(10_000);
      for (const node of it.inner) expect(await node.inspect("hot")).toMatchObject({ owner: null });
      expect(it.clock.pendingTimers).toBe(0);
    },
  );

  it.each(isNightly ? [2, 3, 5] : [3])(
    "acquire() shares a lock on %i nodes evenly between processes of one worker",
    async (nodeCount) => {
      const it = crowd(5, nodeCount);
      const { locks, count } = await contend(it, 1, 2000);
      expect(fairness(locks)).toBeGreaterThan(0.9);
      expect(count).toBeGreaterThan(600);
    },
  );

  it.each([2, 5])("acquire() still shares a lock on %i nodes if no release is announced", async (nodeCount) => {
    const it = crowd(4, nodeCount);
    for (const { nodes } of it.clients) for (const node of nodes) node.announcement = () => {};
    const { locks } = await contend(it, 5, 10_000);
    for (const share of locks) expect(share).toBeGreaterThan(0);
  });

  it("acquire() shares a lock evenly if each release is announced three times and late", async () => {
    const it = crowd(4, 3);
    for (const { nodes } of it.clients) {
      for (const node of nodes) {
        node.announcement = (deliver) => {
          for (const delayMs of [0.1, 0.5, 30]) it.clock.deliver(delayMs, deliver);
        };
      }
    }
    const { locks } = await contend(it, 5, 2000);
    expect(fairness(locks)).toBeGreaterThan(0.8);
  });

  it.each(["rejects", "never settles", "is missing"])(
    "acquire() gets the lock by retrying if watch() %s",
    async (how) => {
      const it = crowd(3, 3);
      for (const { nodes } of it.clients) {
        for (const node of nodes) {
          if (how === "is missing") delete node.watch;
          else node.watch = () => (how === "rejects" ? Promise.reject(new Error("no")) : new Promise(() => {}));
        }
      }
      const { locks } = await contend(it, 3, 3000);
      for (const share of locks) expect(share).toBeGreaterThan(0);
    },
  );
});

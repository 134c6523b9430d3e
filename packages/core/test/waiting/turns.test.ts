import type { Redlock } from "@holdfast/core";
import { type FaultyNode, isNightly } from "@holdfast/testkit";
import { beforeEach, describe, expect, it, vi } from "vitest";
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

  type Change = (node: FaultyNode, crowd: Crowd) => void;
  const silent: Change = (node) => {
    node.announcement = () => {};
  };
  const late: Change = (node, { clock }) => {
    node.announcement = (deliver) => {
      for (const delayMs of [0.1, 0.5, 30]) clock.deliver(delayMs, deliver);
    };
  };
  const watching = (watch: FaultyNode["watch"]): Change => {
    return (node) => Object.assign(node, { watch });
  };
  const few = { clients: 3, workers: 3, forMs: 3_000 };
  it.each([
    ["no release is announced on two nodes", silent, { clients: 4, nodes: 2, workers: 5, forMs: 10_000 }, 0],
    ["no release is announced on five nodes", silent, { clients: 4, nodes: 5, workers: 5, forMs: 10_000 }, 0],
    ["each is announced three times and late", late, { clients: 4, nodes: 3, workers: 5, forMs: 2_000 }, 0.8],
    ["watch() rejects", watching(() => Promise.reject(new Error("no"))), { ...few, nodes: 3 }, 0],
    ["watch() never settles", watching(() => new Promise(() => {})), { ...few, nodes: 3 }, 0],
    ["watch() is missing", watching(undefined), { ...few, nodes: 3 }, 0],
  ])("acquire() still shares a lock if %s", async (_, change, { clients, nodes, workers, forMs }, fairnessMin) => {
    const it = crowd(clients, nodes);
    for (const client of it.clients) for (const node of client.nodes) change(node, it);
    const { locks } = await contend(it, workers, forMs);
    for (const share of locks) expect(share).toBeGreaterThan(0);
    expect(fairness(locks)).toBeGreaterThan(fairnessMin);
  });
});

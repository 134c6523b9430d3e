/*
 * Why each permit is a slot. A semaphore could also count: a node grants while fewer than k claims are in force, and a
 * client that a majority of the nodes has granted holds a permit. The searches below find more than k holders of such
 * permits, without any fault, and none of slots.
 */
import { type LockNode, Redlock } from "@holdfast/core";
import { semaphore } from "@holdfast/core/semaphore";
import { memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";
import { expect, test } from "vitest";

/** A node that grants while fewer than `permits` claims are in force on it. */
function countingNode(name: string, permits: number): LockNode {
  const claims = new Set<string>();
  return {
    name,
    async acquire({ owner, fenceHint }) {
      if (!claims.has(owner) && claims.size >= permits) return { granted: false };
      claims.add(owner);
      return { granted: true, fence: Math.max(1, fenceHint) };
    },
    async extend({ owner, fence }) {
      return claims.has(owner) ? { held: true, fence } : { held: false, rejoined: false };
    },
    async release({ owner }) {
      return { released: claims.delete(owner) };
    },
  };
}

type Acquire = (redlock: Redlock) => Promise<unknown>;

/** Three clients ask all nodes at once. At each node, the request of the client named there arrives last. */
async function holdersOf(nodes: readonly LockNode[], lastAt: readonly number[], acquire: Acquire): Promise<number> {
  const clock = new VirtualClock();
  const calls = [0, 1, 2].map((client) => {
    const network = nodes.map((inner, index) => {
      const node = new FaultyNode(inner, clock);
      node.fault = () => ({ requestMs: lastAt[index] === client ? 3 : client, replyMs: 1 });
      return node;
    });
    return acquire(new Redlock(network, { clock, nodeTimeoutMs: 50 })).catch(() => null);
  });
  const locks = await clock.until(Promise.all(calls));
  return locks.filter((lock) => lock !== null).length;
}

/**
 * Returns the largest number of holders in all orders of arrival, and how many orders there are. Those that differ in the
 * names of the nodes alone are one.
 */
async function search(
  nodeCount: number,
  nodeOf: (name: string) => LockNode,
  acquire: Acquire,
): Promise<[most: number, orders: number]> {
  let most = 0;
  let orders = 0;
  for (let order = 0; order < 3 ** nodeCount; order++) {
    const lastAt = Array.from({ length: nodeCount }, (_, index) => Math.floor(order / 3 ** index) % 3);
    if (lastAt.some((client, index) => client < (lastAt[index - 1] ?? 0))) continue;
    const nodes = lastAt.map((_, index) => nodeOf(`n${index}`));
    most = Math.max(most, await holdersOf(nodes, lastAt, acquire));
    orders += 1;
  }
  return [most, orders];
}

const acquireOne: Acquire = (redlock) => redlock.tryAcquire("sem:api");

test.each([
  [3, 10],
  [5, 21],
])("a majority of %i nodes that count two permits admits three holders", async (nodeCount, orders) => {
  expect(await search(nodeCount, (name) => countingNode(name, 2), acquireOne)).toEqual([3, orders]);
});

test.each([3, 5])("acquire() of two permits over %i nodes admits two holders", async (nodeCount) => {
  const wait = { waitTimeoutMs: 100 };
  const acquire: Acquire = (redlock) => semaphore(redlock, "api", 2).acquire(1, wait);
  const [most] = await search(nodeCount, (name) => memoryNode({ name }), acquire);
  expect(most).toBe(2);
});

import { memoryNode } from "@holdfast/memory";
import { differenceInHistories } from "@holdfast/testkit";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, expect, test, vi } from "vitest";
import { interceptRequests, type Sent } from "./interception.ts";
import { acquire, extend, node, release } from "./world.ts";

const server = await startEtcdServer();
afterAll(() => server.stop());

test("etcdNode() replies as memoryNode() does in random histories of exclusive and shared requests, in which the floor rises", {
  timeout: 120_000,
}, async () => {
  const open = () => node({ endpoints: server.url });
  expect(await differenceInHistories(open, memoryNode)).toBeUndefined();
});

/** Records the comparisons, and the operations in either case, of each transaction. */
function recordSizes(): number[][] {
  const sizes: number[][] = [];
  interceptRequests((sent: Sent) => {
    const { compare, success, failure } = sent.request;
    if (sent.method === "Txn") sizes.push([compare.length, success.length, failure.length]);
    sent.deliver();
  });
  return sizes;
}

test("an exclusive claim takes one small transaction, and so does its release, although resources can be shared", async () => {
  const one = node({ endpoints: server.url });
  await one.acquire(acquire("alice", { fenceHint: 10 }));
  await one.release(release("alice"));
  const sizes = recordSizes();
  await one.acquire(acquire("alice", { fenceHint: 20 }));
  await one.extend(extend("alice"));
  await one.release(release("alice"));
  expect(sizes).toEqual([
    [3, 2, 3], // the third comparison is that of the floor
    [2, 1, 2],
    [1, 1, 1],
  ]);
});

test("shared claims of many resources are joined, extended, taken over, rejoined and released at the limit of a transaction", async () => {
  const one = node({ endpoints: server.url });
  const resources = Array.from({ length: 63 }, (_, index) => `r${index}`).sort();
  const most = { resources, ttlMs: 60_000, shared: true };
  expect(await one.acquire(acquire("alice", most))).toEqual({ granted: true, fence: 1, uniform: true });
  expect(await one.acquire(acquire("bob", most))).toEqual({ granted: true, fence: 1, uniform: true });
  expect(await one.extend(extend("bob", { ...most, fence: 5 }))).toEqual({ held: true, fence: 5 });
  expect(await one.release(release("bob", { resources }))).toEqual({ released: true });
  expect(await one.extend(extend("bob", { ...most, rejoin: true }))).toEqual({ held: false, rejoined: true });
  expect(await one.release(release("alice", { resources }))).toEqual({ released: true });
  // A sharer is replaced with more operations than a transaction has for so many.
  expect(await one.acquire(acquire("carol", { ...most, shared: false, takeover: "bob" }))).toEqual({ granted: false });
  const some = { resources: resources.slice(0, 31), takeover: "bob" };
  expect(await one.acquire(acquire("carol", some))).toEqual({ granted: true, fence: 6, uniform: true });
});

test("extend() of a shared claim takes one transaction, although another sharer has released meanwhile", async () => {
  const one = node({ endpoints: server.url });
  for (const owner of ["alice", "bob"]) await one.acquire(acquire(owner, { shared: true }));
  await one.release(release("bob"));
  const sizes = recordSizes();
  expect(await one.extend(extend("alice", { shared: true }))).toEqual({ held: true, fence: 1 });
  expect(sizes).toHaveLength(1);
});

test("shared claims of one client on one resource end each at its own ttl", async () => {
  const one = node({ endpoints: server.url });
  await one.acquire(acquire("alice", { shared: true }));
  for (const owner of ["bob", "carol"]) await one.acquire(acquire(owner, { shared: true, ttlMs: 300 }));
  expect((await one.inspect("r")).sharers?.map(({ owner }) => owner)).toHaveLength(3);
  await vi.waitUntil(async () => (await one.inspect("r")).sharers?.length === 1, 20_000);
  expect(await one.inspect("r")).toMatchObject({ owner: "alice", sharers: [{ owner: "alice" }] });
});

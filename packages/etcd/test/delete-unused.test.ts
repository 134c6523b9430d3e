import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, describe, expect, test } from "vitest";
import { interceptRequests } from "./interception.ts";
import { acquire, node, release, twoNodes } from "./world.ts";

const server = await startEtcdServer();
afterAll(() => server.stop());

const dayMs = 24 * 3_600_000;
const unusedForMs = dayMs;
/** Tokens of clients with right clocks, two days ago and now. */
const old = 1_000 * (Date.now() - 2 * dayMs);
const recent = 1_000 * Date.now();
const timeoutMs = 10_000;

describe("deleteUnused() of etcdNode()", () => {
  test("deleteUnused() deletes old counters without claims, and later tokens are above all deleted", async () => {
    const [one, another] = twoNodes(server.url);
    for (const [resource, fenceHint] of Object.entries({ a: old, b: old + 7, c: recent, held: old })) {
      await one.acquire(acquire("alice", { resources: [resource], fenceHint }));
      if (resource !== "held") await one.release(release("alice", { resources: [resource] }));
    }
    expect(await another.deleteUnused({ unusedForMs })).toBe(2);
    const scanned = await one.scan({ timeoutMs }).then(({ cursor = "" }) => one.scan({ timeoutMs, cursor }));
    expect(scanned).toMatchObject({ counters: 2, highest: recent });
    for (const resource of ["a", "b", "new"]) {
      const granted = await one.acquire(acquire("bob", { resources: [resource], fenceHint: 1 }));
      expect(granted.granted && granted.fence).toBeGreaterThan(old + 7);
    }
    expect((await one.inspect("held")).fence).toBe(old);
    expect(await one.deleteUnused({ unusedForMs })).toBe(0);
  });

  test("deleteUnused() keeps a counter that is used while it is about to be deleted", async () => {
    const [one, another] = twoNodes(server.url);
    for (const resource of ["claimed", "raised"]) {
      await one.acquire(acquire("alice", { resources: [resource], fenceHint: old }));
      await one.release(release("alice", { resources: [resource] }));
    }
    const isDeletion = (request: { success: readonly object[] }) =>
      request.success.some((each) => "requestDeleteRange" in each);
    const held: (() => void)[] = [];
    interceptRequests(({ method, request, deliver }) => {
      if (method === "Txn" && isDeletion(request) && held.length < 2) held.push(deliver);
      else deliver();
    });
    const deleting = one.deleteUnused({ unusedForMs });
    await expect.poll(() => held.length).toBe(2);
    await another.acquire(acquire("bob", { resources: ["claimed"], fenceHint: 1 }));
    const raised = await another.acquire(acquire("bob", { resources: ["raised"], fenceHint: 1 }));
    await another.release(release("bob", { resources: ["raised"] }));
    for (const deliver of held) deliver();
    expect(await deleting).toBe(0);
    const next = await another.acquire(acquire("carol", { resources: ["raised"], fenceHint: 1 }));
    expect(next).toEqual({ granted: true, fence: 1 + ((raised.granted && raised.fence) || 0) });
  });

  test("deleteUnused() goes on behind a thousand counters of locks that are held", async () => {
    const one = node({ endpoints: server.url });
    for (let call = 0; call < 17; call++) {
      const resources = Array.from({ length: 60 }, (_, index) => `held ${1_000 * call + index}`).sort();
      await one.acquire(acquire(`alice ${call}`, { resources, fenceHint: old }));
    }
    await one.acquire(acquire("bob", { resources: ["unused"], fenceHint: old }));
    await one.release(release("bob", { resources: ["unused"] }));
    expect(await one.deleteUnused({ unusedForMs })).toBe(1);
    expect((await one.inspect("unused")).fence).toBe(0);
  });

  test.each([
    [{ unusedForMs: 59_999 }, "unusedForMs must be at least 60000, a minute, not 59999"],
    [{ unusedForMs: 1.5 }, "unusedForMs must be a positive integer"],
    [{ unused: 1 }, "unused is not an option of deleteUnused"],
  ])("deleteUnused() refuses %j", async (options, message) => {
    const one = node({ endpoints: server.url });
    await expect(one.deleteUnused(options as { unusedForMs: number })).rejects.toThrow(message);
  });
});

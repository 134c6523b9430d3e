import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, describe, expect, test, vi } from "vitest";
import { acquire, extend, node, release, twoNodes } from "./world.ts";

const lockAndLeave = new URL("./fixtures/lock-and-leave.ts", import.meta.url);

const server = await startEtcdServer();
afterAll(() => server.stop());

/** The ids of all leases on the server. */
async function leaseIds(): Promise<string[]> {
  const { leases = [] } = (await server.api("lease/leases")) as { leases?: { ID: string }[] };
  return leases.map(({ ID }) => ID);
}

async function revokeAll(): Promise<void> {
  for (const ID of await leaseIds()) await server.api("lease/revoke", { ID });
}

describe("etcdNode()", () => {
  test("acquire() puts the claims of one ttl on one lease", async () => {
    await revokeAll();
    const one = node({ endpoints: server.url });
    for (let i = 0; i < 20; i++) await one.acquire(acquire("alice", { resources: [`r${i}`] }));
    await Promise.all(Array.from({ length: 20 }, (_, i) => one.acquire(acquire("bob", { resources: [`s${i}`] }))));
    expect(await leaseIds()).toHaveLength(1);
  });

  test("acquire() and extend() take another lease if an operator has revoked the one they used, and its claims are gone", async () => {
    const one = node({ endpoints: server.url });
    await one.acquire(acquire("alice"));
    await revokeAll();
    expect(await one.inspect("r")).toEqual({ owner: null, remainingMs: null, fence: 1 });
    expect(await one.extend(extend("alice"))).toEqual({ held: false, rejoined: false });
    expect(await one.release(release("alice"))).toEqual({ released: false });
    expect(await one.acquire(acquire("bob"))).toEqual({ granted: true, fence: 2 });
    await revokeAll();
    expect(await one.extend(extend("bob", { rejoin: true }))).toEqual({ held: false, rejoined: true });
    expect(await one.extend(extend("bob"))).toEqual({ held: true, fence: 3 });
  });

  test("a claim ends at its ttl while its process lives, however long its lease lasts", async () => {
    const one = node({ endpoints: server.url });
    await one.acquire(acquire("alice", { ttlMs: 300 }));
    const startMs = performance.now();
    const [before] = await leaseIds();
    expect(before).toBeDefined();
    await vi.waitUntil(async () => (await one.inspect("r")).owner === null, 20_000);
    expect(performance.now() - startMs).toBeGreaterThan(295);
    expect(await leaseIds(), "the lease outlasts the claim").toContain(before);
  });

  test("extend() moves a claim to a lease that lasts longer, and the old end does not delete it", async () => {
    const one = node({ endpoints: server.url });
    await one.acquire(acquire("alice", { ttlMs: 200 }));
    expect(await one.extend(extend("alice", { ttlMs: 30_000 }))).toEqual({ held: true, fence: 1 });
    const witness = node({ endpoints: server.url });
    await witness.acquire(acquire("carol", { ttlMs: 400 }));
    await vi.waitUntil(async () => (await witness.inspect("r")).owner === null, 20_000);
    const { owner, remainingMs } = await one.inspect("r");
    expect(owner).toBe("alice");
    expect(remainingMs).toBeGreaterThan(20_000);
  });

  test("extend() by another client neither shortens a claim nor lets the first client delete it", async () => {
    const [one, other] = twoNodes(server.url);
    await one.acquire(acquire("alice", { ttlMs: 60_000 }));
    expect(await other.extend(extend("alice", { ttlMs: 100 }))).toEqual({ held: true, fence: 1 });
    expect((await other.inspect("r")).remainingMs).toBeGreaterThan(59_000);
    await one.release(release("alice"));
  });

  test("acquire() takes a new lease after the machine has slept through the old one", async () => {
    const one = node({ endpoints: server.url });
    await revokeAll();
    await one.acquire(acquire("alice", { ttlMs: 10_000 }));
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 9_000);
    await one.acquire(acquire("bob", { resources: ["s"], ttlMs: 10_000 }));
    vi.restoreAllMocks();
    expect(await leaseIds()).toHaveLength(2);
  });

  test("close() revokes the leases without claims, keeps the others, and leaves no watcher and no connection", async () => {
    await revokeAll();
    const [one, other] = twoNodes(server.url);
    await one.watch(["r"], () => {});
    await one.acquire(acquire("alice"));
    await one.release(release("alice"));
    await other.acquire(acquire("bob"));
    expect(await leaseIds()).toHaveLength(2);
    await one.close();
    await one.close();
    expect(await leaseIds()).toHaveLength(1);
    await vi.waitUntil(async () => (await server.metric("etcd_debugging_mvcc_watcher_total")) === 0, 20_000);
    await other.close();
    expect(await one.inspect("r"), "a closed node still works").toMatchObject({ owner: "bob" });
    expect(await other.extend(extend("bob"))).toEqual({ held: true, fence: 2 });
    expect(await other.release(release("bob"))).toEqual({ released: true });
    await expect(one.watch(["r"], () => {})).rejects.toThrow("the node is closed");
  });

  test.each(["close", "leave"])("lets the process end on its own: %s", async (leaving) => {
    const args = [await bundleProgram(lockAndLeave), server.url, leaving];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
    expect(stdout + stderr).toBe("done\n");
  });

  test("a claim outlives its process, and its lease then ends it", async () => {
    const args = [await bundleProgram(lockAndLeave), server.url, "hold"];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
    expect(stdout).toBe("done\n");
    const one = node({ endpoints: server.url, prefix: "left/" });
    expect((await one.inspect("r")).owner).not.toBeNull();
    await vi.waitUntil(async () => (await one.inspect("r")).owner === null, 30_000);
  });
});

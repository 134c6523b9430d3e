import { setTimeout as sleep } from "node:timers/promises";
import { type EtcdServer, startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, describe, expect, test, vi } from "vitest";
import { interceptRequests, isClaim, isDeletion, type Sent } from "./interception.ts";
import { acquire, extend, node, release, replaceableServer, startServer, twoNodes } from "./world.ts";

const server = await startEtcdServer();
afterAll(() => server.stop());

/** The lives of all leases on a server, in seconds. */
async function leaseLives({ api }: EtcdServer): Promise<number[]> {
  const { leases = [] } = (await api("lease/leases")) as { leases?: { ID: string }[] };
  const lives = await Promise.all(leases.map(({ ID }) => api("lease/timetolive", { ID })));
  return lives.map(({ TTL }) => Number(TTL));
}

describe("etcdNode() with late requests", () => {
  test("close() keeps a claim that is made meanwhile on a lease without other claims", async () => {
    const [one, witness] = twoNodes(server.url);
    await one.acquire(acquire("alice"));
    await one.release(release("alice"));
    const late: Sent[] = [];
    interceptRequests((sent) => (isClaim(sent) ? late.push(sent) : sent.deliver()));
    const granted = one.acquire(acquire("bob", { fenceHint: 10 }));
    await vi.waitUntil(() => late.length === 1);
    // The lease has no keys when it is asked for them, and the claim arrives before the lease could be revoked.
    const revocations: Sent[] = [];
    vi.restoreAllMocks();
    interceptRequests((sent) => (sent.method === "LeaseRevoke" ? revocations.push(sent) : sent.deliver()));
    const closed = one.close();
    await vi.waitUntil(() => revocations.length > 0, { timeout: 500 }).catch(() => {});
    late[0]?.deliver();
    expect(await granted).toEqual({ granted: true, fence: 10 });
    for (const { deliver } of revocations.splice(0)) deliver();
    vi.restoreAllMocks();
    await closed;
    expect(await witness.inspect("r")).toMatchObject({ owner: "bob" });
  });

  test("extend() keeps a claim whose first reply was lost, although its deletion is under way", async () => {
    const one = node({ endpoints: server.url });
    await one.acquire(acquire("alice"));
    await one.release(release("alice"));
    const deletions: Sent[] = [];
    let isLossy = true;
    interceptRequests((sent) => {
      if (isDeletion(sent)) deletions.push(sent);
      else if (isClaim(sent) && isLossy) void sent.deliverWithoutReply();
      else sent.deliver();
    });
    const claim = acquire("bob", { ttlMs: 1_000, timeoutMs: 300, fenceHint: 10 });
    await expect(one.acquire(claim)).rejects.toThrow("no reply in time");
    await vi.waitUntil(() => deletions.length > 0, 20_000);
    isLossy = false;
    expect(await one.extend(extend("bob", { ttlMs: 60_000 }))).toEqual({ held: true, fence: 10 });
    for (const { deliverWithoutReply } of deletions) await deliverWithoutReply();
    expect(await one.inspect("r")).toMatchObject({ owner: "bob" });
  });

  test("claims that end while the server hangs are deleted one request at a time", async () => {
    const one = node({ endpoints: server.url });
    await one.acquire(acquire("alice", { ttlMs: 300 })); // there is a lease now
    await one.release(release("alice"));
    const unanswered: Sent[] = [];
    interceptRequests((sent) => unanswered.push(sent));
    const owners = Array.from({ length: 50 }, (_, index) => `owner ${index}`);
    const request = { ttlMs: 300, timeoutMs: 100 };
    await Promise.allSettled(owners.map((owner) => one.acquire(acquire(owner, { ...request, resources: [owner] }))));
    unanswered.length = 0;
    await vi.waitUntil(() => unanswered.length > 0, 20_000);
    await sleep(200); // the others have ended by now
    expect(unanswered).toHaveLength(1);
  });

  test.each([
    ["acquire", false],
    ["rejoin", true],
  ])("a claim whose %s arrives after its release does not stay", async (_, isRejoin) => {
    const [one, witness] = twoNodes(server.url);
    await one.acquire(acquire("alice"));
    await one.release(release("alice"));
    const late: Sent[] = [];
    interceptRequests((sent) => (isClaim(sent) ? late.push(sent) : sent.deliver()));
    const request = isRejoin
      ? one.extend(extend("bob", { rejoin: true, timeoutMs: 300 }))
      : one.acquire(acquire("bob", { fenceHint: 1_000, timeoutMs: 300 }));
    await expect(request).rejects.toThrow("no reply in time");
    expect(await one.release(release("bob"))).toEqual({ released: false });
    await late[0]?.deliverWithoutReply();
    expect(await witness.inspect("r")).toMatchObject({ owner: "bob" });
    await vi.waitUntil(async () => (await witness.inspect("r")).owner === null, 20_000);
  });

  test("acquire() does not time out at once if its timeout is longer than any timer", async () => {
    const one = node({ endpoints: server.url });
    expect(await one.acquire(acquire("alice", { timeoutMs: 2 ** 40 }))).toEqual({ granted: true, fence: 1 });
  });

  test("claims of many resources are extended, taken over, rejoined and ended at the limit of a transaction", async () => {
    const one = node({ endpoints: server.url });
    const resources = Array.from({ length: 63 }, (_, index) => `r${index}`).sort();
    const most = { resources, ttlMs: 60_000 };
    expect(await one.acquire(acquire("alice", most))).toEqual({ granted: true, fence: 1, uniform: true });
    expect(await one.extend(extend("alice", { ...most, fence: 5 }))).toEqual({ held: true, fence: 5 });
    expect(await one.acquire(acquire("bob", { ...most, takeover: "alice" }))).toEqual({
      granted: true,
      fence: 6,
      uniform: true,
    });
    expect(await one.release(release("bob", most))).toEqual({ released: true });
    expect(await one.extend(extend("bob", { ...most, rejoin: true }))).toEqual({ held: false, rejoined: true });
    expect(await one.extend(extend("bob", most))).toEqual({ held: true, fence: 7 });
    await one.release(release("bob", most));
    const others = resources.map((resource) => acquire(`carol ${resource}`, { resources: [resource], ttlMs: 500 }));
    await Promise.all(others.map((request) => one.acquire(request)));
    await one.acquire(acquire("dave", { resources: ["s"], ttlMs: 500 }));
    const owners = async () =>
      (await Promise.all(["r0", "r62", "s"].map((name) => one.inspect(name)))).map((v) => v.owner);
    await vi.waitUntil(async () => (await owners()).every((owner) => owner === null), 20_000);
  });

  test("extend() after close() does not make the claim last longer each time", async () => {
    const started = await startServer();
    const one = node({ endpoints: started.url });
    await one.acquire(acquire("alice", { ttlMs: 10_000 }));
    await one.close();
    for (let round = 0; round < 12; round++) await one.extend(extend("alice", { ttlMs: 10_000 }));
    expect(Math.max(...(await leaseLives(started)))).toBeLessThanOrEqual(19);
  });

  test("extend() by two clients in turn does not make the claim last longer each time", async () => {
    const started = await startServer();
    const nodes = [1, 2].map(() => node({ endpoints: started.url, prefix: "two/" }));
    await nodes[0]?.acquire(acquire("alice", { ttlMs: 10_000 }));
    for (let round = 0; round < 12; round++) {
      for (const each of nodes) {
        await each.extend(extend("alice", { ttlMs: 10_000 }));
        await each.extend(extend("alice", { ttlMs: 10_000 }));
      }
    }
    expect(Math.max(...(await leaseLives(started)))).toBeLessThanOrEqual(19);
  });

  test("acquire() shares a lease that the server has made longer than requested", async () => {
    const started = await startServer({ args: ["--heartbeat-interval", "500", "--election-timeout", "5000"] });
    const one = node({ endpoints: started.url });
    for (let i = 0; i < 10; i++) await one.acquire(acquire("alice", { resources: [`r${i}`], ttlMs: 500 }));
    expect(await leaseLives(started)).toHaveLength(1);
  });

  test("extend() overwrites no claim of another owner on a server that has lost its data", async () => {
    const { endpoints, after, replace } = await replaceableServer();
    const one = node({ endpoints, prefix: "lost/" });
    const rival = node({ endpoints: after.url, prefix: "lost/" });
    await one.acquire(acquire("alice"));
    // The revisions on the other server are the same.
    await rival.acquire(acquire("bob"));
    await replace();
    const reply = () => one.extend(extend("alice", { timeoutMs: 1_000 })).catch(() => undefined);
    expect(await vi.waitUntil(reply, 20_000)).toEqual({ held: false, rejoined: false, holder: "bob" });
    expect(await rival.inspect("r")).toMatchObject({ owner: "bob" });
  });
});

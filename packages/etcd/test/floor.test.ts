import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { EpochError, type ScannedClaim, type ScanPortion } from "@holdfast/core";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { EtcdNode } from "../src/index.ts";
import { type TxnRequest, txn } from "../src/messages.ts";
import { interceptRequests } from "./interception.ts";
import { acquire, extend, node, release } from "./world.ts";

const server = await startEtcdServer();
afterAll(() => server.stop());

const timeoutMs = 10_000;
const zeros = { floor: 0, epoch: 0, timeoutMs };

/** Returns all portions. Calls `between` after each one. */
async function scanAll(one: EtcdNode, between?: () => Promise<unknown>): Promise<ScanPortion[]> {
  const portions: ScanPortion[] = [];
  let cursor: string | undefined;
  do {
    const portion = await one.scan({ timeoutMs, ...(cursor !== undefined && { cursor }) });
    portions.push(portion);
    cursor = portion.cursor;
    await between?.();
  } while (cursor !== undefined);
  return portions;
}

/** Returns what all portions say together, with the claims in the order of their resources and owners. */
async function summaryOf(one: EtcdNode) {
  const portions = await scanAll(one);
  const nameOf = ({ resource, owner }: ScannedClaim) => `${resource} ${owner}`;
  return {
    counters: portions.reduce((sum, { counters }) => sum + counters, 0),
    highest: Math.max(...portions.map(({ highest }) => highest)),
    claims: portions.flatMap(({ claims }) => claims).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
  };
}

/** Records the transactions that all nodes send. */
function recordTransactions(): TxnRequest[] {
  const sent: TxnRequest[] = [];
  interceptRequests(({ method, request, deliver }) => {
    if (method === "Txn") sent.push(request);
    deliver();
  });
  return sent;
}

/** The keys of the server whose names start with a prefix, with their revisions. */
async function entriesOf(prefix: string): Promise<unknown> {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const { kvs } = await server.api("kv/range", { key: base64(prefix), range_end: base64(`${prefix}\x7f`) });
  return kvs;
}

describe("the floor of etcdNode()", () => {
  test("raiseFloor() raises each number by itself, never lowers one, and outlives a crash of the server", async () => {
    const started = await startEtcdServer();
    onTestFinished(() => started.stop());
    const one = node({ endpoints: started.url });
    expect(await one.raiseFloor(zeros)).toEqual({ floor: 0, epoch: 0 });
    expect(await one.raiseFloor({ floor: 100, epoch: 3, timeoutMs })).toEqual({ floor: 100, epoch: 3 });
    expect(await one.raiseFloor({ floor: 50, epoch: 4, timeoutMs })).toEqual({ floor: 100, epoch: 4 });
    const most = Number.MAX_SAFE_INTEGER;
    expect(await one.raiseFloor({ floor: most, epoch: 1, timeoutMs })).toEqual({ floor: most, epoch: 4 });
    await started.kill();
    await started.restart();
    const read = () => one.raiseFloor(zeros).catch(() => undefined);
    expect(await vi.waitUntil(read, 20_000)).toEqual({ floor: most, epoch: 4 });
  });

  test("raiseFloor() of many clients at once ends with the highest of all", async () => {
    const nodes = Array.from({ length: 4 }, () => node({ endpoints: server.url, prefix: "raised/" }));
    const requests = Array.from({ length: 60 }, (_, index) => {
      return { floor: (index * 37) % 60, epoch: (index * 29) % 60, timeoutMs: 60_000 };
    });
    const replies = await Promise.all(requests.map((request, index) => nodes[index % 4]?.raiseFloor(request)));
    for (const [index, reply] of replies.entries()) {
      expect(reply?.floor).toBeGreaterThanOrEqual(requests[index]?.floor ?? Infinity);
      expect(reply?.epoch).toBeGreaterThanOrEqual(requests[index]?.epoch ?? Infinity);
    }
    expect(await nodes[0]?.raiseFloor(zeros)).toEqual({ floor: 59, epoch: 59 });
  });

  test("raiseFloor() rejects if another program has written the floor, and so does acquire()", async () => {
    const one = node({ endpoints: server.url, prefix: "foreign/" });
    const key = Buffer.from("foreign/floor").toString("base64");
    await server.api("kv/put", { key, value: Buffer.from("7").toString("base64") });
    await expect(one.raiseFloor(zeros)).rejects.toThrow("another program has changed it");
    await expect(one.acquire(acquire("alice"))).rejects.toThrow("another program has changed it");
  });

  test("acquire() grants above the floor where counters are below, also with a takeover and for several", async () => {
    const one = node({ endpoints: server.url });
    const of = (...resources: string[]) => ({ resources });
    await one.acquire(acquire("alice", { ...of("a"), fenceHint: 70 }));
    await one.raiseFloor({ floor: 50, epoch: 0, timeoutMs });
    expect(await one.acquire(acquire("bob", of("b")))).toEqual({ granted: true, fence: 51 });
    expect(await one.acquire(acquire("carol", { ...of("c"), fenceHint: 60 }))).toEqual({ granted: true, fence: 60 });
    const both = { ...of("a", "d"), takeover: "alice" };
    expect(await one.acquire(acquire("dave", both))).toEqual({ granted: true, fence: 71 });
    await one.raiseFloor({ floor: 90, epoch: 0, timeoutMs });
    const again = { ...of("a", "d"), takeover: "dave" };
    expect(await one.acquire(acquire("erin", again))).toEqual({ granted: true, fence: 91 });
    const farAhead = 2 ** 52; // further than a hint may be
    await one.raiseFloor({ floor: farAhead, epoch: 0, timeoutMs });
    expect(await one.acquire(acquire("frank", of("f")))).toEqual({ granted: true, fence: farAhead + 1 });
    // The client knows the floor by now, and the hint lies between the counter and the floor.
    await one.release(release("bob", of("b")));
    const between = { ...of("b"), fenceHint: 100 };
    expect(await one.acquire(acquire("gina", between))).toEqual({ granted: true, fence: farAhead + 1 });
  });

  test("acquire() lets a sharer join with the floor if the counter is below, and later ones agree", async () => {
    const one = node({ endpoints: server.url });
    const shared = { shared: true };
    expect(await one.acquire(acquire("alice", shared))).toEqual({ granted: true, fence: 1 });
    await one.raiseFloor({ floor: 40, epoch: 0, timeoutMs });
    expect(await one.acquire(acquire("bob", shared))).toEqual({ granted: true, fence: 40 });
    expect(await one.inspect("r")).toMatchObject({ fence: 40, floor: 40 });
    expect(await one.acquire(acquire("carol", shared))).toEqual({ granted: true, fence: 40 });
    expect(await one.acquire(acquire("dave", { ...shared, takeover: "bob" }))).toEqual({ granted: true, fence: 40 });
    for (const owner of ["alice", "carol", "dave"]) await one.release(release(owner));
    expect(await one.acquire(acquire("erin", shared))).toEqual({ granted: true, fence: 41 });
  });

  test("acquire() repeats a grant, and extend() keeps, rejoins and joins, with the counter alone", async () => {
    const one = node({ endpoints: server.url });
    await one.acquire(acquire("alice", { fenceHint: 5 }));
    await one.raiseFloor({ floor: 100, epoch: 9, timeoutMs });
    expect(await one.acquire(acquire("alice", { epoch: 9 }))).toEqual({ granted: true, fence: 5 });
    expect(await one.extend(extend("alice", { fence: 6 }))).toEqual({ held: true, fence: 6 });
    expect(await one.release(release("alice"))).toEqual({ released: true });
    const rejoin = extend("alice", { fence: 6, rejoin: true, shared: true });
    expect(await one.extend(rejoin)).toEqual({ held: false, rejoined: true });
    expect(await one.inspect("r")).toMatchObject({ owner: "alice", fence: 7, floor: 100 });
    expect(await one.extend({ ...rejoin, owner: "bob" })).toEqual({ held: false, rejoined: true });
    expect(await one.inspect("r")).toMatchObject({ fence: 7, floor: 100 });
  });

  test("acquire() fails if the floor uses up the counters, and changes nothing", async () => {
    const one = node({ endpoints: server.url });
    await one.raiseFloor({ floor: Number.MAX_SAFE_INTEGER, epoch: 0, timeoutMs });
    await expect(one.acquire(acquire("alice"))).rejects.toThrow("used up");
    expect(await one.inspect("r")).toMatchObject({ owner: null, fence: 0 });
  });

  test("acquire() serves clients whose epoch differs from the node's by 1 at most, and writes nothing for others", async () => {
    const prefix = "epochs/";
    const [one, another] = [node({ endpoints: server.url, prefix }), node({ endpoints: server.url, prefix })];
    const granted = { granted: true, fence: expect.any(Number) };
    expect(await one.acquire(acquire("alice", { resources: ["a"], epoch: 7 }))).toEqual(granted);
    expect(await one.acquire(acquire("bob"))).toEqual(granted);
    await one.release(release("bob"));
    await another.raiseFloor({ floor: 0, epoch: 3, timeoutMs });
    const before = await entriesOf(prefix);
    expect(before).toHaveLength(4);
    // The client meets the epoch with a claim that would succeed, and knows it from then on.
    for (const epoch of [undefined, 1, 5, 1]) {
      const request = acquire("bob", { fenceHint: 1_000, ...(epoch !== undefined && { epoch }) });
      await expect(one.acquire(request)).rejects.toThrow(new EpochError(3, epoch ?? 1));
    }
    // A repeated request is refused like the first one, and the claim goes on.
    const repeated = acquire("alice", { resources: ["a"], epoch: 7 });
    await expect(one.acquire(repeated)).rejects.toBeInstanceOf(EpochError);
    expect(await entriesOf(prefix)).toEqual(before);
    for (const epoch of [2, 3, 4]) {
      expect(await one.acquire(acquire(`c${epoch}`, { resources: [`r${epoch}`], epoch }))).toEqual(granted);
    }
    expect(await one.release(release("alice", { resources: ["a"] }))).toEqual({ released: true });
  });

  test("acquire() takes a second transaction only for the first claim after the floor has changed", async () => {
    const prefix = "trips/";
    const [one, another] = [node({ endpoints: server.url, prefix }), node({ endpoints: server.url, prefix })];
    let fenceHint = 1_000;
    const countOf = async (): Promise<number> => {
      sent.length = 0;
      fenceHint += 1_000;
      const granted = { granted: true, fence: fenceHint };
      expect(await one.acquire(acquire("alice", { fenceHint, epoch: 2 }))).toEqual(granted);
      const count = sent.length;
      await one.release(release("alice"));
      return count;
    };
    const sent = recordTransactions();
    expect([await countOf(), await countOf(), await countOf()]).toEqual([2, 1, 1]);
    await another.raiseFloor({ floor: 10, epoch: 2, timeoutMs });
    expect([await countOf(), await countOf()]).toEqual([2, 1]);
  });

  test("acquire() sends 36 bytes more for a floor with the default prefix, and 54 once it is raised", async () => {
    const one = node({ endpoints: server.url, prefix: "lock/" });
    const sent = recordTransactions();
    const bytesForFloor = async (): Promise<number> => {
      sent.length = 0;
      await one.acquire(acquire("alice", { resources: ["invoice:42"] }));
      const request = sent[0] as TxnRequest;
      const others = { ...request, compare: request.compare.slice(0, -1), failure: request.failure.slice(0, -1) };
      await one.release(release("alice", { resources: ["invoice:42"] }));
      return txn.encode(request).length - txn.encode(others).length;
    };
    expect(await bytesForFloor()).toBe(36);
    await one.raiseFloor({ floor: 1_600_000_000_000_000, epoch: 1, timeoutMs });
    await one.inspect("invoice:42");
    expect(await bytesForFloor()).toBe(54);
  });

  test("acquire() asks again for a floor and an epoch that the server has lost", async () => {
    const [before, after] = [await startEtcdServer(), await startEtcdServer()];
    const target = { port: before.port };
    const network = await startTcpProxy(target);
    onTestFinished(async () => {
      await network.close();
      await Promise.all([before.stop(), after.stop()]);
    });
    const [one, late] = [1, 2].map(() => node({ endpoints: `127.0.0.1:${network.port}`, prefix: "lost/" }));
    await one?.raiseFloor({ floor: 500, epoch: 3, timeoutMs });
    await expect(late?.acquire(acquire("late"))).rejects.toBeInstanceOf(EpochError);
    // The revisions of the other server are the same.
    await node({ endpoints: after.url, prefix: "lost/" }).raiseFloor({ floor: 900, epoch: 1, timeoutMs });
    await network.stop();
    target.port = after.port;
    await network.start();
    const request = acquire("alice", { timeoutMs: 1_000, epoch: 2 });
    const reply = () => one?.acquire(request).catch(() => undefined);
    expect(await vi.waitUntil(reply, 20_000)).toEqual({ granted: true, fence: 901 });
    const served = () => late?.acquire(acquire("late", { resources: ["s"], timeoutMs: 1_000 })).catch(() => undefined);
    expect(await vi.waitUntil(served, 20_000)).toEqual({ granted: true, fence: 901 });
  });
});

describe("scan()", () => {
  test("scan() returns every counter, and every claim in force with its owner, in portions", async () => {
    const prefix = "scanned/";
    const [one, another] = [node({ endpoints: server.url, prefix }), node({ endpoints: server.url, prefix })];
    expect(await summaryOf(one)).toEqual({ counters: 0, highest: 0, claims: [] });
    const names = ["\u00e9\ud800", 'a"b\\', ...Array.from({ length: 1_100 }, (_, index) => `r${index}`)].sort();
    for (let first = 0; first < names.length; first += 63) {
      const resources = names.slice(first, first + 63);
      await one.acquire(acquire("alice\0", { resources, fenceHint: 10 }));
    }
    for (const owner of ["bob", "carol"]) await another.acquire(acquire(owner, { resources: ["s"], shared: true }));
    await one.acquire(acquire("dave", { resources: ["released"], fenceHint: 99 }));
    await one.release(release("dave", { resources: ["released"] }));
    await one.raiseFloor({ floor: 1_000_000, epoch: 5, timeoutMs });
    const { claims, ...counted } = await summaryOf(one);
    expect(counted).toEqual({ counters: names.length + 2, highest: 99 });
    const expected = [...names.map((resource) => [resource, "alice\0"]), ["s", "bob"], ["s", "carol"]];
    expect(claims.map(({ resource, owner }) => [resource, owner]).sort()).toEqual(expected.sort());
    for (const { remainingMs, owner } of claims) {
      expect(remainingMs).toBeGreaterThan(30_000);
      expect(remainingMs).toBeLessThanOrEqual(owner === "alice\0" ? 60_000 : 100_000);
    }
    const portions = await scanAll(one);
    expect(Math.max(...portions.map(({ claims, counters }) => Math.max(claims.length, counters)))).toBe(1_000);
  });

  test("scan() finds all that lasts while other resources are claimed and released", async () => {
    const one = node({ endpoints: server.url });
    const lasting = Array.from({ length: 1_150 }, (_, index) => `lasting ${index}`).sort();
    const passing = Array.from({ length: 63 }, (_, index) => `${index} passes`).sort();
    for (let first = 0; first < lasting.length; first += 50) {
      await one.acquire(acquire("alice", { resources: lasting.slice(first, first + 50), fenceHint: 5 }));
    }
    await one.acquire(acquire("bob", { resources: passing }));
    let round = 0;
    const portions = await scanAll(one, async () => {
      await one.release(release("bob", { resources: passing }));
      round += 1;
      const added = Array.from({ length: 30 }, (_, index) => `${index} in ${round}`).sort();
      await one.acquire(acquire(`carol ${round}`, { resources: added, fenceHint: 7 }));
    });
    const claims = portions.flatMap((portion) => portion.claims);
    const found = claims.filter(({ owner }) => owner === "alice").map(({ resource }) => resource);
    expect(found.sort()).toEqual(lasting);
    expect(portions.reduce((sum, { counters }) => sum + counters, 0)).toBeGreaterThanOrEqual(lasting.length);
    expect(Math.max(...portions.map(({ highest }) => highest))).toBe(7);
  });

  test("scan() returns a claim that moves to another lease before the time of its old one is read", async () => {
    const prefix = "moving/";
    const [one, holder] = [node({ endpoints: server.url, prefix }), node({ endpoints: server.url, prefix })];
    await holder.acquire(acquire("alice", { ttlMs: 1_000 }));
    let moved: Promise<unknown> | undefined;
    interceptRequests((sent) => {
      if (sent.method !== "LeaseTimeToLive" || moved !== undefined) return sent.deliver();
      const { ID } = sent.request as unknown as { ID: number };
      moved = holder
        .extend(extend("alice", { ttlMs: 60_000 }))
        .then(() => server.api("lease/revoke", { ID }))
        .then(() => sent.deliver());
    });
    const { claims } = await summaryOf(one);
    expect(claims).toEqual([{ resource: "r", owner: "alice", remainingMs: expect.any(Number) }]);
    expect(claims[0]?.remainingMs).toBeGreaterThan(30_000);
    await moved;
  });

  test("scan() and inspect() tell that the key of another program never expires", async () => {
    const one = node({ endpoints: server.url, prefix: "endless/" });
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    await server.api("kv/put", { key: base64("endless/c/r"), value: base64("another program") });
    const expected = { owner: "another program", remainingMs: Infinity };
    expect((await summaryOf(one)).claims).toEqual([{ resource: "r", ...expected }]);
    expect(await one.inspect("r")).toEqual({ ...expected, fence: 0 });
  });

  test("scan() reads a portion again with the same cursor, and rejects a cursor that is none of its own", async () => {
    const one = node({ endpoints: server.url });
    await one.acquire(acquire("alice", { fenceHint: 8 }));
    const { cursor = "" } = await one.scan({ timeoutMs });
    for (const _ of [1, 2]) {
      expect(await one.scan({ timeoutMs, cursor })).toEqual({ counters: 1, highest: 8, claims: [] });
    }
    const { cursor: foreign = "" } = await node({ endpoints: server.url }).scan({ timeoutMs });
    for (const wrong of ["", "r7", foreign]) {
      await expect(one.scan({ timeoutMs, cursor: wrong })).rejects.toThrow(RangeError);
    }
  });
});

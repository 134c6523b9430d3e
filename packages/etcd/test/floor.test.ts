import { EpochError } from "@holdfast/core";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, describe, expect, test, vi } from "vitest";
import { type TxnRequest, txn } from "../src/messages.ts";
import { interceptRequests } from "./interception.ts";
import { acquire, extend, node, release, replaceableServer, startServer, twoNodes } from "./world.ts";

const server = await startEtcdServer();
afterAll(() => server.stop());

const timeoutMs = 10_000;
const zeros = { floor: 0, epoch: 0, timeoutMs };

/** Records the transactions that all nodes send. */
function recordTransactions(): TxnRequest[] {
  const sent: TxnRequest[] = [];
  interceptRequests(({ method, request, deliver }) => {
    if (method === "Txn") sent.push(request);
    deliver();
  });
  return sent;
}

describe("the floor of etcdNode()", () => {
  test("raiseFloor() outlives a crash of the server", async () => {
    const started = await startServer();
    const one = node({ endpoints: started.url });
    await one.raiseFloor({ floor: 100, epoch: 4, timeoutMs });
    await started.kill();
    await started.restart();
    const read = () => one.raiseFloor(zeros).catch(() => undefined);
    expect(await vi.waitUntil(read, 20_000)).toEqual({ floor: 100, epoch: 4 });
  });

  test("raiseFloor() rejects if another program has written the floor, and so does acquire()", async () => {
    const one = node({ endpoints: server.url, prefix: "foreign/" });
    const key = Buffer.from("foreign/floor").toString("base64");
    await server.api("kv/put", { key, value: Buffer.from("7").toString("base64") });
    await expect(one.raiseFloor(zeros)).rejects.toThrow("another program has changed it");
    await expect(one.acquire(acquire("alice"))).rejects.toThrow("another program has changed it");
  });

  test("acquire() takes a second transaction only for the first claim after the floor has changed", async () => {
    const [one, another] = twoNodes(server.url);
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
    const { endpoints, after, replace } = await replaceableServer();
    const [one, late] = [1, 2].map(() => node({ endpoints, prefix: "lost/" }));
    await one?.raiseFloor({ floor: 500, epoch: 3, timeoutMs });
    await expect(late?.acquire(acquire("late"))).rejects.toBeInstanceOf(EpochError);
    // The revisions of the other server are the same.
    await node({ endpoints: after.url, prefix: "lost/" }).raiseFloor({ floor: 900, epoch: 1, timeoutMs });
    await replace();
    const request = acquire("alice", { timeoutMs: 1_000, epoch: 2 });
    const reply = () => one?.acquire(request).catch(() => undefined);
    expect(await vi.waitUntil(reply, 20_000)).toEqual({ granted: true, fence: 901 });
    const served = () => late?.acquire(acquire("late", { resources: ["s"], timeoutMs: 1_000 })).catch(() => undefined);
    expect(await vi.waitUntil(served, 20_000)).toEqual({ granted: true, fence: 901 });
  });
});

describe("scan()", () => {
  test("scan() returns a claim that moves to another lease before the time of its old one is read", async () => {
    const [one, holder] = twoNodes(server.url);
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
    const { claims } = await one.scan({ timeoutMs });
    expect(claims).toEqual([{ resource: "r", owner: "alice", remainingMs: expect.any(Number) }]);
    expect(claims[0]?.remainingMs).toBeGreaterThan(30_000);
    await moved;
  });

  test("scan() and inspect() tell that the key of another program never expires", async () => {
    const one = node({ endpoints: server.url, prefix: "endless/" });
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    await server.api("kv/put", { key: base64("endless/c/r"), value: base64("another program") });
    const expected = { owner: "another program", remainingMs: Infinity };
    expect((await one.scan({ timeoutMs })).claims).toEqual([{ resource: "r", ...expected }]);
    expect(await one.inspect("r")).toEqual({ ...expected, fence: 0 });
  });

  test("scan() rejects a cursor of another prefix", async () => {
    const [one, other] = [node({ endpoints: server.url }), node({ endpoints: server.url })];
    await one.acquire(acquire("alice", { fenceHint: 8 }));
    const [{ cursor: own = "" }, { cursor: foreign = "" }] = [
      await one.scan({ timeoutMs }),
      await other.scan({ timeoutMs }),
    ];
    expect(await one.scan({ timeoutMs, cursor: own })).toEqual({ counters: 1, highest: 8, claims: [] });
    await expect(one.scan({ timeoutMs, cursor: foreign })).rejects.toThrow(RangeError);
  });
});

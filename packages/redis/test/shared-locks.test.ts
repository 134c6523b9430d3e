import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { eventually } from "@holdfast/redis-testkit/timing";
import { describe, expect, onTestFinished, test } from "vitest";
import { lockNames } from "../src/keys.ts";
import { startBench } from "./connection.ts";

const { client, node } = await startBench();
const names = lockNames("lock:", "r");
const shared = { shared: true };
const denied = expect.objectContaining({ granted: false });

const read = (owner: string, terms = {}) => node().acquire(acquireRequest(owner, { ...shared, ...terms }));
const write = (owner: string, terms = {}) => node().acquire(acquireRequest(owner, terms));
const free = (owner: string, terms = {}) => node().release({ ...releaseRequest(owner), ...terms });
const keep = (owner: string, terms = {}) => node().extend(extendRequest(owner, { ...shared, ...terms }));

/** Returns the end of each sharer's claim, in milliseconds of the server's time of day. */
async function ends(): Promise<Record<string, number>> {
  const members = await client.zrange(names.sharers, "0", "-1", "WITHSCORES");
  const pairs = members.flatMap((word, index) => (index % 2 === 0 ? [[word, Number(members[index + 1])]] : []));
  return Object.fromEntries(pairs);
}

/** Expects that the lock key and the set of the sharers end with the claim that lasts longest. */
async function expectAligned(): Promise<void> {
  const latestMs = Math.max(...Object.values(await ends()));
  expect(await client.pexpiretime("lock:r")).toBe(latestMs);
  expect(await client.pexpiretime(names.sharers)).toBe(latestMs);
}

describe("the lock key of a shared lock", () => {
  test("is a string that equals no owner and ends with the longest claim; the sharers are in a set in the same slot", async () => {
    await read("alice", { ttlMs: 60_000 });
    await read("bob", { ttlMs: 90_000 });
    expect((await client.keys("*")).sort()).toEqual([names.fence, names.sharers, "lock:r"]);
    const value = (await client.getBuffer("lock:r")) as Buffer;
    expect(value.toString("latin1")).toBe("holdfast:shared\u00ff0");
    expect(Buffer.from(value.toString()).equals(value)).toBe(false);
    expect(Object.keys(await ends())).toEqual(["alice", "bob"]);
    expect(await client.pttl("lock:r")).toBeGreaterThan(80_000);
    await expectAligned();
  });

  test("lasts as long as the longest remaining claim after each join, extension, takeover and release", async () => {
    await read("alice", { ttlMs: 500_000 });
    await read("bob", { ttlMs: 60_000 });
    expect(await client.pttl("lock:r")).toBeGreaterThan(490_000);
    await expectAligned();
    await free("alice");
    expect(await client.pttl("lock:r")).toBeLessThanOrEqual(60_000);
    await expectAligned();
    await keep("bob", { ttlMs: 700_000 });
    expect(await client.pttl("lock:r")).toBeGreaterThan(690_000);
    await expectAligned();
    await keep("bob", { ttlMs: 1_000 });
    expect(await client.pttl("lock:r")).toBeGreaterThan(690_000);
    await read("carol", { takeover: "bob", ttlMs: 90_000 });
    expect(await client.pttl("lock:r")).toBeLessThanOrEqual(90_000);
    await expectAligned();
    await free("carol");
    expect(await client.keys("*")).toEqual([names.fence]);
  });

  test("leads to the set of its sharers, whatever characters the name contains", async () => {
    for (const name of ["a\u0000b", "}{", "%s%d", "é\n🔒", "x".repeat(1_000)]) {
      const terms = { resources: [name] };
      expect(await read("alice", terms)).toMatchObject({ granted: true });
      expect(await read("bob", terms)).toMatchObject({ granted: true });
      expect(await write("carol", { ...terms, waiter: "carol" })).toEqual(denied);
      expect(await keep("bob", terms)).toMatchObject({ held: true });
      for (const owner of ["alice", "bob"]) expect(await free(owner, terms)).toMatchObject({ released: true });
      expect(await write("carol", terms)).toMatchObject({ granted: true });
    }
  });

  test("is not freed by a compare-and-delete with any owner, or with what a client reads as text", async () => {
    await read("alice");
    const script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
    for (const value of ["alice", (await client.get("lock:r")) as string]) {
      expect(await client.eval(script, 1, "lock:r", value)).toBe(0);
    }
    expect(await client.set("lock:r", "theirs", "PX", 60_000, "NX")).toBeNull();
  });

  test("is an owner in an exclusive lock, which replaces shared ones and leaves no set behind", async () => {
    await read("alice");
    expect(await write("bob", { takeover: "alice" })).toMatchObject({ granted: true, fence: 2 });
    expect(await client.get("lock:r")).toBe("bob");
    expect((await client.keys("*")).sort()).toEqual([names.fence, "lock:r"]);
    expect(await read("carol", { takeover: "bob" })).toMatchObject({ granted: true, fence: 3 });
    await expectAligned();
  });
});

describe("sharers whose lock key is gone", () => {
  test.each([
    ["deleted by another program", () => client.del("lock:r")],
    ["replaced by another program", () => client.set("lock:r", "theirs").then(() => client.del("lock:r"))],
  ])("do not count if it was %s", async (_, lose) => {
    await read("alice");
    await lose();
    expect(Object.keys(await ends())).toEqual(["alice"]);
    expect(await node().inspect("r")).toEqual({ owner: null, remainingMs: null, fence: 1 });
    expect(await keep("alice")).toEqual({ held: false, rejoined: false });
    expect(await free("alice")).toEqual({ released: false });
    expect(await write("bob")).toMatchObject({ granted: true });
    expect(await free("bob")).toEqual({ released: true });
    expect(await read("carol")).toMatchObject({ granted: true, fence: 3 });
    expect(Object.keys(await ends())).toEqual(["carol"]);
    expect(await free("alice")).toEqual({ released: false });
    expect(await keep("alice", { rejoin: true })).toEqual({ held: false, rejoined: true });
    expect(Object.keys(await ends()).sort()).toEqual(["alice", "carol"]);
  });

  test.each([
    ["text", "theirs"],
    ["bytes with that of a mark", Buffer.from(`${"x".repeat(15)}\u00ff0`, "latin1")],
  ])("do not count while another program has the key, with %s", async (_, theirs) => {
    await read("alice");
    await client.set("lock:r", theirs, "PX", 60_000);
    expect(await free("alice")).toEqual({ released: false });
    expect(await keep("alice", { rejoin: true })).toEqual({ held: false, rejoined: false });
    expect(await read("bob")).toEqual(denied);
    expect(await client.getBuffer("lock:r")).toEqual(Buffer.from(theirs));
  });
});

describe("a shared lock whose sharers are lost", () => {
  test("blocks readers, writers and takeovers until the key expires", async () => {
    await read("alice", { ttlMs: 60_000 });
    await client.del(names.sharers);
    for (const terms of [{}, { takeover: "alice" }, { waiter: "w" }]) {
      expect(await read("bob", terms)).toMatchObject({ granted: false, retryAfterMs: expect.any(Number) });
      expect(await write("bob", terms)).toMatchObject({ granted: false, retryAfterMs: expect.any(Number) });
    }
    expect(await keep("alice", { rejoin: true })).toEqual({ held: false, rejoined: false });
    expect(await free("alice")).toEqual({ released: false });
    expect(await node().inspect("r")).toMatchObject({ owner: "unknown sharers", fence: 1 });
    expect(await client.pttl("lock:r")).toBeGreaterThan(50_000);
    expect(await client.exists(names.sharers)).toBe(0);
  });

  test("does not keep release() from freeing other resources if the set has another type", async () => {
    const resources = ["a", "r", "z"];
    await read("alice", { resources });
    await client.del(names.sharers);
    await client.set(names.sharers, "no set");
    await expect(read("bob")).rejects.toThrow("WRONGTYPE");
    expect(await node().release(releaseRequest("alice", resources))).toEqual({ released: true });
    expect(await client.exists("lock:a", "lock:z")).toBe(0);
    expect(await client.exists("lock:r")).toBe(1);
  });
});

describe("a sharer whose claim has ended", () => {
  test("leaves the set with the next claim", async () => {
    await read("alice", { ttlMs: 20 });
    await read("bob");
    await eventually(async () => expect((await node().inspect("r")).sharers).toHaveLength(1));
    await keep("bob");
    expect(Object.keys(await ends())).toEqual(["bob"]);
  });
});

describe("a denied writer that waits", () => {
  test("keeps further readers out for about a second, but not those that rejoin", async () => {
    await read("alice");
    await write("bob");
    expect(await read("carol")).toMatchObject({ granted: true });
    await write("bob", { waiter: "B" });
    await expectAligned();
    const reply = await read("dave");
    expect(reply).toEqual(denied);
    expect(reply.granted || reply.retryAfterMs).toBeLessThanOrEqual(1_000);
    expect(await read("dave", { takeover: "alice" })).toEqual(denied);
    expect(await read("carol")).toMatchObject({ granted: true });
    expect(await keep("erin", { rejoin: true })).toEqual({ held: false, rejoined: true });
    await eventually(async () => expect(await read("dave")).toMatchObject({ granted: true }));
    await expectAligned();
  });

  test("keeps nobody out if its reservation is from a time before the server's clock was set back", async () => {
    await read("alice");
    const [seconds] = await client.time();
    for (const [aheadMs, granted] of [
      [500_000, true],
      [1_500, false],
    ] as const) {
      const value = `holdfast:shared\u00ff${Number(seconds) * 1_000 + aheadMs}`;
      await client.set("lock:r", Buffer.from(value, "latin1"), "KEEPTTL");
      expect(await read(`reader ${aheadMs}`)).toMatchObject({ granted });
    }
  });
});

describe("the waiting list of a shared lock", () => {
  test("names waiters exactly as they were given, those of readers together", async () => {
    const heard: string[] = [];
    const subscriber = client.duplicate();
    onTestFinished(() => subscriber.disconnect());
    subscriber.on("message", (_channel, message) => heard.push(message));
    await subscriber.subscribe(names.channel);
    await write("alice");
    await write("bob", { waiter: "é\n" });
    for (const waiter of ["é\n", "\u00ff", "🔒", "a"]) await read("carol", { waiter });
    expect(await free("alice")).toEqual({ released: true, next: "a" });
    await read("carol", { waiter: "a" });
    expect(await free("carol")).toEqual({ released: true, next: "é\n" });
    await write("bob");
    expect(await free("bob")).toEqual({ released: true });
    await eventually(() => expect(heard).toHaveLength(6));
    expect(heard).toEqual(["a", "é\n", "\u00ff", "🔒", "é\n", ""]);
    expect(await client.keys("*")).toEqual([names.fence]);
  });
});

describe("inspect() of a shared lock", () => {
  test("returns the hundred claims that last longest, the longest first", async () => {
    await Promise.all(Array.from({ length: 130 }, (_, i) => read(`reader ${i}`, { ttlMs: longMs + 1_000 * i })));
    const view = await node().inspect("r");
    expect(view.sharers?.map(({ owner }) => owner)).toEqual(Array.from({ length: 100 }, (_, i) => `reader ${129 - i}`));
    expect(view).toMatchObject({ owner: "reader 129", remainingMs: view.sharers?.[0]?.remainingMs });
  });
});

describe("the fence of a sharer", () => {
  test("advances from a lost counter", async () => {
    await read("alice", { fenceHint: 70 });
    await client.del(names.fence);
    expect(await read("bob", { fenceHint: 80 })).toEqual({ granted: true, fence: 80 });
  });
});

/** Returns how often the server ran each command for an operation, which is one call of a script. */
async function commandsOf(run: () => Promise<unknown>): Promise<Record<string, number>> {
  await client.config("RESETSTAT");
  await run();
  const stats = await client.info("commandstats");
  const counts = [...stats.matchAll(/cmdstat_([a-z]+):calls=(\d+)/g)].map(([, name, calls]) => [name, Number(calls)]);
  const { evalsha, config, info, ...others } = Object.fromEntries(counts);
  expect(evalsha).toBe(1);
  return others;
}

describe("the commands of an exclusive lock", () => {
  test("are few, and those of a lock that cannot be shared", async () => {
    const { acquire, extend, release, inspect } = node({ verifyServer: false });
    const [alice, bob] = ["a", "b"].map((digit) => digit.repeat(32)) as [string, string];
    for (const owner of [alice, bob]) await acquire(acquireRequest(owner));
    await inspect("r");
    await release(releaseRequest(alice));
    const grant = () => acquire(acquireRequest(alice));
    expect(await commandsOf(grant)).toEqual({ get: 1, set: 2 });
    const denial = { get: 2, pttl: 1, set: 1 };
    expect(await commandsOf(() => acquire(acquireRequest(bob)))).toEqual(denial);
    const waiting = { get: 2, pttl: 1, zadd: 1, pexpire: 1 };
    expect(await commandsOf(() => acquire(acquireRequest(bob, { waiter: "B" })))).toEqual(waiting);
    expect(await commandsOf(() => extend(extendRequest(alice)))).toEqual({ get: 2, pttl: 1, pexpire: 1 });
    expect(await commandsOf(() => inspect("r"))).toEqual({ get: 2, pttl: 1 });
    const several = acquireRequest(alice, { resources: ["a", "b", "c"] });
    expect(await commandsOf(() => acquire(several))).toEqual({ get: 6, set: 6 });
    expect(await commandsOf(() => release(releaseRequest(alice)))).toEqual({ get: 1, del: 1, zpopmin: 1, publish: 1 });
    await grant();
    const taking = { get: 2, set: 2 };
    expect(await commandsOf(() => acquire(acquireRequest(bob, { takeover: alice })))).toEqual(taking);
    const undo = { ...releaseRequest(bob), undo: true };
    expect(await commandsOf(() => release(undo))).toEqual({ get: 1, del: 1 });
    const hinted = acquireRequest(alice, { fenceHint: Date.now() * 1_000 });
    expect(await commandsOf(() => acquire(hinted))).toEqual({ get: 1, set: 2, time: 1 });
    await release(releaseRequest(alice));
    const next = { ...hinted, fenceHint: hinted.fenceHint + 1_000_000 };
    expect(await commandsOf(() => acquire(next))).toEqual({ get: 1, set: 2 });
  });
});

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { describe, expect, onTestFinished, test } from "vitest";
import { lockNames, redisNode } from "../src/index.ts";
import { clientOf, connectionOver, startBench } from "./connection.ts";

const { client, node, server } = await startBench();
const nodeOver = async (username: string) =>
  redisNode(connectionOver(await clientOf(server, { username, password: "secret" })));
const { fence } = lockNames("lock:", "r");
const largest = Number.MAX_SAFE_INTEGER;

describe("the lock key", () => {
  test("consists of prefix and resource, and has the owner as a plain string with a ttl", async () => {
    await node({ prefix: "app:" }).acquire(acquireRequest("alice", { ttlMs: 60_000 }));
    expect((await client.keys("*")).sort()).toEqual(["app:r", lockNames("app:", "r").fence]);
    expect(await client.get("app:r")).toBe("alice");
    expect(await client.pttl("app:r")).toBeGreaterThan(50_000);
    expect(await client.pttl("app:r")).toBeLessThanOrEqual(60_000);
  });

  test("is that of other Redlock implementations if the prefix is empty", async () => {
    const ours = node({ prefix: "" });
    expect(await client.set("r", "theirs", "PX", 60_000, "NX")).toBe("OK");
    const denied = await ours.acquire(acquireRequest("alice"));
    expect(denied.granted || denied.retryAfterMs).toBeGreaterThan(50_000);
    expect(await ours.extend(extendRequest("alice", { rejoin: true }))).toMatchObject({ held: false, rejoined: false });
    expect(await ours.release(releaseRequest("alice"))).toEqual({ released: false });
    await client.del("r");
    await ours.acquire(acquireRequest("alice"));
    expect(await client.set("r", "theirs", "PX", 60_000, "NX")).toBeNull();
  });

  test("with an empty value, as a foreign program may write it, denies", async () => {
    await client.set("lock:r", "", "PX", 60_000);
    const claims = [{}, { waiter: "w" }, { takeover: "bob" }, { resources: ["r", "s"] }, { resources: ["q", "r"] }];
    for (const terms of claims) {
      expect(await node().acquire(acquireRequest("alice", terms)), JSON.stringify(terms)).toMatchObject({
        granted: false,
      });
    }
    expect(await client.get("lock:r")).toBe("");
  });

  test("without an expiry, as a foreign program may leave it, denies forever", async () => {
    await client.set("lock:r", "foreign");
    const endless = { granted: false, retryAfterMs: Infinity };
    expect(await node().acquire(acquireRequest("alice"))).toEqual(endless);
    expect(await node().inspect("r")).toEqual({ owner: "foreign", remainingMs: null, fence: 0 });
    await client.set("lock:s", "other", "PX", 1_000);
    const denied = { ...endless, heldResources: ["r"] };
    expect(await node().acquire(acquireRequest("alice", { resources: ["r", "s"] }))).toEqual(denied);
    expect(await node().acquire(acquireRequest("alice", { resources: ["a", "r"] }))).toEqual(denied);
  });

  test("of another type causes an error that names the key, and is left alone", async () => {
    await client.rpush("lock:r", "not a lock");
    const expected = /^WRONGTYPE .*\(the key lock:r\)/;
    await expect(node().acquire(acquireRequest("alice", { resources: ["a", "r"] }))).rejects.toThrow(expected);
    await expect(node().extend(extendRequest("alice", { rejoin: true }))).rejects.toThrow(expected);
    await expect(node().inspect("r")).rejects.toThrow(expected);
    expect(await node().release(releaseRequest("alice"))).toEqual({ released: false });
    expect(await client.keys("*")).toEqual(["lock:r"]);
  });

  test("of another type does not prevent release() from freeing the others", async () => {
    const resources = ["a", "r", "z"];
    await node().acquire(acquireRequest("alice", { resources }));
    await client.del("lock:r");
    await client.rpush("lock:r", "not a lock");
    expect(await node().release(releaseRequest("alice", resources))).toEqual({ released: true });
    expect(await client.exists("lock:a", "lock:z")).toBe(0);
  });
});

describe("the fence counter", () => {
  test("keeps every digit up to the largest safe integer", async () => {
    await client.set(fence, String(largest - 2));
    expect(await node().acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: largest - 1 });
    expect(await node().acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: largest - 1 });
    expect(await node().extend(extendRequest("alice", { fence: largest }))).toEqual({ held: true, fence: largest });
    expect(await node().inspect("r")).toMatchObject({ fence: largest });
    expect(await client.get(fence)).toBe(String(largest));
  });

  test("at its largest value causes an error, and nothing changes", async () => {
    await client.set(fence, String(largest));
    for (const resources of [["r"], ["a", "r"]]) {
      await expect(node().acquire(acquireRequest("alice", { resources }))).rejects.toThrow("is used up");
    }
    await expect(node().extend(extendRequest("alice", { rejoin: true }))).rejects.toThrow("is used up");
    expect(await client.keys("*")).toEqual([fence]);
  });

  test.each([
    ...["", "x", "-1", "1.5", "1e3", "0x10", " 7", "nan", String(largest + 1), "9".repeat(400)],
    ...[" ", "7 x", "7 1 1", "7  1", "7\n", "7\n1", "7 -1", "7 1.5", "x 1", `${largest + 1} 1`],
  ])("with the value %j causes an error, and nothing changes", async (garbage) => {
    await client.set(fence, garbage);
    const expected = `the fence counter ${fence} is not a safe integer`;
    for (const terms of [{}, { waiter: "w" }, { shared: true }, { resources: ["a", "r"] }]) {
      await expect(node().acquire(acquireRequest("alice", terms))).rejects.toThrow(expected);
    }
    await expect(node().inspect("r")).rejects.toThrow(expected);
    expect(await client.keys("*")).toEqual([fence]);
    expect(await client.get(fence)).toBe(garbage);
  });

  test("of another type causes an error that names the key", async () => {
    await client.rpush(fence, "not a counter");
    for (const terms of [{}, { waiter: "w" }]) {
      await expect(node().acquire(acquireRequest("alice", terms))).rejects.toThrow(`(the key ${fence})`);
    }
    expect(await client.keys("*")).toEqual([fence]);
  });

  test("lost while the lock is held makes acquire() reject, and is restored by extend()", async () => {
    await node().acquire(acquireRequest("alice", { fenceHint: 70 }));
    await client.del(fence);
    await expect(node().acquire(acquireRequest("alice"))).rejects.toThrow("the fence counter of lock:r is lost");
    expect(await node().extend(extendRequest("alice", { fence: 70 }))).toEqual({ held: true, fence: 70 });
  });

  test("follows a hint up to an hour above itself without a look at the clock", async () => {
    const hourUs = 3_600_000_000;
    const ahead = largest - 3 * hourUs; // in a distant century
    for (const terms of [{}, { waiter: "w" }]) {
      await client.flushall();
      await client.set(fence, String(ahead));
      const within = acquireRequest("alice", { fenceHint: ahead + hourUs, ...terms });
      expect(await node().acquire(within)).toEqual({ granted: true, fence: ahead + hourUs });
      await client.del("lock:r");
      const beyond = acquireRequest("alice", { fenceHint: ahead + 2 * hourUs + 1, ...terms });
      expect(await node().acquire(beyond)).toEqual({ granted: true, fence: ahead + hourUs + 1 });
    }
  });
});

describe("the fence counter of a slot", () => {
  /** Returns other names whose counter is that of "r", or is not. */
  const namesWhere = (isCovered: boolean): string[] => {
    const found: string[] = [];
    for (let index = 0; found.length < 2; index++) {
      const name = isCovered ? `${index}{lock:r}` : `${index}`;
      if ((lockNames("lock:", name).fence === fence) === isCovered) found.push(name);
    }
    return found;
  };
  const [covered = "", another = ""] = namesWhere(true);
  const [free = "", alsoFree = ""] = namesWhere(false);

  test("covers all names of the slot with one prefix, and advances with each grant of any of them", async () => {
    expect(await node().acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    expect(await node().acquire(acquireRequest("bob", { resources: [covered] }))).toEqual({ granted: true, fence: 2 });
    const both = { resources: [another, free].sort(), waiter: "w" };
    expect(await node().acquire(acquireRequest("carol", both))).toEqual({ granted: true, fence: 3 });
    expect(await node().inspect("r")).toMatchObject({ owner: "alice", fence: 3 });
    expect(await node().acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 3 });
    expect(await client.get(fence)).toBe("3");
    const other = node({ prefix: "other:" });
    expect(await other.acquire(acquireRequest("dave"))).toEqual({ granted: true, fence: 1 });
  });

  test("never expires, whatever becomes of the lock", async () => {
    const { acquire, extend, release } = node();
    for (const operate of [
      () => acquire(acquireRequest("alice", { ttlMs: 60_000 })),
      () => extend(extendRequest("alice", { fence: 5 })),
      () => acquire(acquireRequest("bob", { takeover: "alice" })),
      () => release(releaseRequest("bob")),
      () => client.pexpire(fence, longMs).then(() => acquire(acquireRequest("carol"))),
    ]) {
      await operate();
      expect(await client.pttl(fence)).toBe(-1);
    }
  });

  test("with a value that is no counter is an error for the names that it covers, and for no others", async () => {
    const { acquire, extend, release, inspect } = node();
    await acquire(acquireRequest("alice"));
    await acquire(acquireRequest("alice", { resources: [free] }));
    await client.set(fence, "nonsense");
    const expected = `the fence counter ${fence} is not a safe integer`;
    for (const resources of [["r"], [covered], [covered, alsoFree].sort()]) {
      await expect(acquire(acquireRequest("bob", { resources }))).rejects.toThrow(expected);
    }
    await expect(extend(extendRequest("alice"))).rejects.toThrow(expected);
    await expect(inspect(another)).rejects.toThrow(expected);
    expect(await extend(extendRequest("alice", { resources: [free] }))).toEqual({ held: true, fence: 1 });
    expect(await acquire(acquireRequest("bob", { resources: [alsoFree] }))).toEqual({ granted: true, fence: 1 });
    expect(await inspect(alsoFree)).toMatchObject({ owner: "bob" });
    expect(await release(releaseRequest("alice"))).toEqual({ released: true });
    expect(await client.get(fence)).toBe("nonsense");
  });
});

describe("the server", () => {
  test("without the permission to publish still frees locks", async () => {
    await client.acl("SETUSER", "mute", "on", ">secret", "~*", "+@all", "-publish");
    const mute = await nodeOver("mute");
    await mute.acquire(acquireRequest("alice"));
    expect(await mute.release(releaseRequest("alice"))).toEqual({ released: true });
    expect(await client.exists("lock:r")).toBe(0);
  });

  test("that refuses a key fails only its own operation of a call", async () => {
    await node().acquire(acquireRequest("alice"));
    const keys = ["~lock:r*", "~holdfast:fence:*}lock:", "~holdfast:*}lock:r*"];
    await client.acl("SETUSER", "limited", "on", ">secret", "+@all", "&*", ...keys);
    const limited = await nodeOver("limited");
    await limited.inspect("r");
    const [before, secret, released, after] = await Promise.allSettled([
      limited.acquire(acquireRequest("bob", { resources: ["r1"] })),
      limited.acquire(acquireRequest("bob", { resources: ["secret"] })),
      limited.release(releaseRequest("alice")),
      limited.acquire(acquireRequest("carol", { resources: ["r2", "r3"] })),
    ]);
    expect(before).toMatchObject({ value: { granted: true } });
    expect(secret).toMatchObject({ reason: { message: expect.stringContaining("NOPERM") } });
    expect(released).toMatchObject({ value: { released: true } });
    expect(after).toMatchObject({ value: { granted: true } });
  });

  /** Makes the server refuse writes, as its setting is not fulfilled. */
  const failingSetting = (name: string) => async () => {
    onTestFinished(async () => void (await client.config("SET", name, "0")));
    await client.config("SET", name, "1");
  };

  /** Makes the server refuse writes, as it could not save its data. */
  const failingSave = async () => {
    const [, directory = ""] = (await client.config("GET", "dir")) as string[];
    const inTheWay = join(directory, "dump.rdb");
    onTestFinished(async () => {
      await client.config("SET", "save", "");
      await rm(inTheWay, { recursive: true, force: true });
    });
    await mkdir(join(inTheWay, "not empty"), { recursive: true });
    await client.config("SET", "save", "3600 1000000");
    await client.bgsave();
    await expect.poll(() => client.info("persistence")).toContain("rdb_last_bgsave_status:err");
  };

  test.each([
    ["has too few replicas", failingSetting("min-replicas-to-write"), "NOREPLICAS"],
    ["is out of memory", failingSetting("maxmemory"), "OOM"],
    ["could not save its data", failingSave, "MISCONF"],
  ])("that %s causes an error for a free resource, denies a held one, and changes nothing", async (_, fail, code) => {
    const { acquire } = node();
    const alice = "a".repeat(32);
    await acquire(acquireRequest(alice));
    await fail();
    for (const terms of [{}, { waiter: "w" }]) {
      await expect(acquire(acquireRequest("bob", { resources: ["s"], ...terms }))).rejects.toThrow(code);
      expect(await acquire(acquireRequest("bob", terms))).toMatchObject({ granted: false, holder: alice });
      expect(await acquire(acquireRequest(alice, terms))).toEqual({ granted: true, fence: 1 });
    }
    expect((await client.keys("*")).sort()).toEqual([fence, "lock:r"]);
  });

  test.each([
    ["the common script", { resources: ["r"] }],
    ["the lock script", { resources: ["q", "r"] }],
  ])("that is out of memory grants nothing, and still extends and releases what it holds, by %s", async (_, terms) => {
    await client.set(fence, "4 2");
    const { acquire, extend, release, inspect } = node();
    await acquire(acquireRequest("alice", { ...terms, ttlMs: 60_000, epoch: 2 }));
    const before = (await client.keys("*")).sort();
    await client.config("SET", "maxmemory", "1");
    try {
      for (const more of [{}, { takeover: "alice", resources: ["r"] }, { waiter: "w" }, { shared: true }]) {
        const claim = acquireRequest("bob", {
          resources: terms.resources.map((name) => `${name}2`),
          ...more,
          epoch: 2,
        });
        await expect(acquire(claim)).rejects.toThrow("OOM");
      }
      expect((await client.keys("*")).sort()).toEqual(before);
      const extension = { ...terms, fence: 5, ttlMs: longMs };
      expect(await extend(extendRequest("alice", extension))).toEqual({ held: true, fence: 5 });
      for (const name of terms.resources) expect(await client.pttl(`lock:${name}`)).toBeGreaterThan(60_000);
      await expect(extend(extendRequest("alice", { ...extension, fence: 6 }))).rejects.toThrow("OOM");
      await expect(extend(extendRequest("bob", { resources: ["s"], rejoin: true }))).rejects.toThrow("OOM");
      expect(await inspect("r")).toMatchObject({ owner: "alice", fence: 5 });
      const [claimed, released] = await Promise.allSettled([
        acquire(acquireRequest("bob", { resources: ["s"] })),
        release(releaseRequest("alice", terms.resources)),
      ]);
      expect(claimed).toMatchObject({ reason: { message: expect.stringContaining("OOM") } });
      expect(released).toMatchObject({ value: { released: true } });
    } finally {
      await client.config("SET", "maxmemory", "0");
    }
    expect((await client.keys("*")).sort()).toEqual(before.filter((key) => !key.startsWith("lock:")));
    expect(await client.get(fence)).toBe("5 2");
  });

  test("that is out of memory still extends and releases shared claims", async () => {
    const { acquire, extend, release } = node();
    const shared = { shared: true, ttlMs: 60_000 };
    for (const owner of ["alice", "bob"]) await acquire(acquireRequest(owner, shared));
    await client.config("SET", "maxmemory", "1");
    try {
      await expect(acquire(acquireRequest("carol", { ...shared, resources: ["s"] }))).rejects.toThrow("OOM");
      expect(await extend(extendRequest("alice", { shared: true }))).toEqual({ held: true, fence: 1 });
      expect(await client.pttl("lock:r")).toBeGreaterThan(60_000);
      for (const owner of ["alice", "bob"]) expect(await release(releaseRequest(owner))).toEqual({ released: true });
    } finally {
      await client.config("SET", "maxmemory", "0");
    }
    expect(await client.keys("*")).toEqual([fence]);
  });
});

describe("a denial", () => {
  test("names the resource that is held longest", async () => {
    await node().acquire(acquireRequest("bob", { resources: ["a"], ttlMs: 50_000 }));
    await node().acquire(acquireRequest("bob", { resources: ["c", "d"], ttlMs: 90_000 }));
    await node().acquire(acquireRequest("carol", { resources: ["e"], ttlMs: 70_000 }));
    const heldFor = async (resources: string[], terms = {}) => {
      const reply = await node().acquire(acquireRequest("alice", { resources, ...terms }));
      return reply.granted || reply.heldResources;
    };
    expect(await heldFor(["a", "b"])).toEqual(["a"]);
    expect(await heldFor(["b", "e"])).toEqual(["e"]);
    expect(await heldFor(["a", "b", "d", "e"])).toEqual(["d"]);
    expect(await heldFor(["a", "d", "e"], { takeover: "bob" })).toEqual(["e"]);
    expect(await heldFor(["a", "b"], { waiter: "w" })).toEqual(["a"]);
    expect(await client.zrange(lockNames("lock:", "a").waitingList, "0", "-1")).toEqual(["w"]);
    expect(await client.exists(lockNames("lock:", "b").waitingList)).toBe(0);
  });

  test("of a single resource names none", async () => {
    await node().acquire(acquireRequest("bob"));
    expect(await node().acquire(acquireRequest("alice"))).toEqual({
      granted: false,
      retryAfterMs: expect.any(Number),
    });
  });

  test("names the holder, but never the value of a foreign program", async () => {
    const owner = `night shift:${"0123456789abcdef".repeat(2)}`;
    for (const [resource, holder] of [["s", `${owner}.3`] as const, ["r", owner] as const]) {
      await node().acquire(acquireRequest(holder, { resources: [resource] }));
      expect(await node().acquire(acquireRequest("alice", { resources: [resource] }))).toMatchObject({ holder });
    }
    for (const value of ["redis://user:s3cr3t@db", `${"x".repeat(5_000)}${owner}`]) {
      await client.set("lock:r", value, "PX", 1_000);
      expect(await node().acquire(acquireRequest("alice"))).not.toHaveProperty("holder");
    }
  });
});

describe("an error", () => {
  test("without a message, such as that of a host with several addresses, is reported by its code", async () => {
    const failing = redisNode({
      ...connectionOver(client),
      runScript: () => Promise.reject(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" })),
    });
    await expect(failing.release(releaseRequest("alice"))).rejects.toThrow("ECONNREFUSED");
  });

  test("thrown by the client makes the operation reject", async () => {
    const throwing = redisNode({
      ...connectionOver(client),
      runScript() {
        throw new Error("closed");
      },
    });
    await expect(throwing.release(releaseRequest("alice"))).rejects.toThrow("closed");
  });

  test("does not contain the command, which has the owner", async () => {
    await client.rpush("lock:r", "not a lock");
    const error = await node()
      .acquire(acquireRequest("alice's secret"))
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(
      JSON.stringify(Object.getOwnPropertyNames(error).map((name) => (error as Record<string, unknown>)[name])),
    ).not.toContain("secret");
    expect((error as Error).cause).toBeUndefined();
  });
});

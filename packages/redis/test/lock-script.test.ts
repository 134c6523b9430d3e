import { allow, documentedPermissions, user } from "@holdfast/redis-testkit/permissions";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { describe, expect, test } from "vitest";
import { redisNode } from "../src/index.ts";
import { fenceKey, waitingListKey } from "../src/keys.ts";
import { connectionOver, startBench } from "./connection.ts";

const { server, client, node, nodeOver } = await startBench();
const dayMs = 24 * 60 * 60 * 1000;
const fence = fenceKey("lock:r");
const largest = Number.MAX_SAFE_INTEGER;

describe("the lock key", () => {
  test("consists of prefix and resource, and has the owner as a plain string with a ttl", async () => {
    await node({ prefix: "app:" }).acquire(acquireRequest("alice", { ttlMs: 60_000 }));
    expect((await client.keys("*")).sort()).toEqual(["app:r", "holdfast:fence:{app:r}"]);
    expect(await client.get("app:r")).toBe("alice");
    expect(await client.pttl("app:r")).toBeGreaterThan(50_000);
    expect(await client.pttl("app:r")).toBeLessThanOrEqual(60_000);
  });

  test("is that of other Redlock implementations if the prefix is empty", async () => {
    const ours = node({ prefix: "" });
    expect(await client.set("r", "theirs", "PX", 60_000, "NX")).toBe("OK");
    const denied = await ours.acquire(acquireRequest("alice"));
    expect(denied.granted || denied.retryAfterMs).toBeGreaterThan(50_000);
    expect(await ours.extend(extendRequest("alice", { rejoin: true }))).toEqual({ held: false, rejoined: false });
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
    const request = acquireRequest("alice", { resources: ["a", "r"] });
    await expect(node().acquire(request)).rejects.toThrow("is used up");
    await expect(node().extend(extendRequest("alice", { rejoin: true }))).rejects.toThrow("is used up");
    expect(await client.keys("*")).toEqual([fence]);
  });

  test.each(["", "x", "-1", "1.5", "1e3", "0x10", " 7", "nan", String(largest + 1), "9".repeat(400)])(
    "with the value %j causes an error, and nothing changes",
    async (garbage) => {
      await client.set(fence, garbage);
      const expected = `the fence counter ${fence} is not a safe integer`;
      await expect(node().acquire(acquireRequest("alice", { resources: ["a", "r"] }))).rejects.toThrow(expected);
      await expect(node().inspect("r")).rejects.toThrow(expected);
      expect(await client.keys("*")).toEqual([fence]);
      expect(await client.get(fence)).toBe(garbage);
    },
  );

  test("of another type causes an error that names the key", async () => {
    await client.rpush(fence, "not a counter");
    await expect(node().acquire(acquireRequest("alice"))).rejects.toThrow(`(the key ${fence})`);
    expect(await client.keys("*")).toEqual([fence]);
  });

  test("lost while the lock is held makes acquire() reject, and is restored by extend()", async () => {
    await node().acquire(acquireRequest("alice", { fenceHint: 70 }));
    await client.del(fence);
    await expect(node().acquire(acquireRequest("alice"))).rejects.toThrow("the fence counter of lock:r is lost");
    expect(await node().extend(extendRequest("alice", { fence: 70 }))).toEqual({ held: true, fence: 70 });
  });

  test("follows a hint up to a day ahead of the server's clock, not of this process's", async () => {
    const reply = await node().acquire(acquireRequest("alice", { fenceHint: largest }));
    const [seconds, microseconds] = await client.time();
    const latestUs = Number(seconds) * 1e6 + Number(microseconds) + dayMs * 1000;
    const granted = reply.granted ? reply.fence : 0;
    expect(granted).toBeLessThanOrEqual(latestUs);
    expect(granted).toBeGreaterThan(latestUs - 60e6);
  });
});

describe("the expiry of the fence counter", () => {
  test("is relative to the end of the claim", async () => {
    await node({ fenceTtlMs: 1_000_000 }).acquire(acquireRequest("alice", { ttlMs: 500_000 }));
    expect(await client.pttl(fence)).toBeGreaterThan(1_490_000);
    expect(await client.pttl(fence)).toBeLessThanOrEqual(1_500_000);
    await node({ fenceTtlMs: 1_000_000 }).extend(extendRequest("alice", { ttlMs: 800_000 }));
    expect(await client.pttl(fence)).toBeGreaterThan(1_790_000);
    await node().release(releaseRequest("alice"));
    expect(await client.pttl(fence)).toBeGreaterThan(1_790_000);
  });

  test("is a day after the end of the claim by default", async () => {
    await node().acquire(acquireRequest("alice"));
    expect(await client.pttl(fence)).toBeGreaterThan(dayMs + longMs - 60_000);
    expect(await client.pttl(fence)).toBeLessThanOrEqual(dayMs + longMs);
  });

  test("is never reduced", async () => {
    await node({ fenceTtlMs: 50 * dayMs }).acquire(acquireRequest("alice"));
    await node({ fenceTtlMs: 1 }).extend(extendRequest("alice", { fence: 5 }));
    await node({ fenceTtlMs: 1 }).acquire(acquireRequest("bob", { takeover: "alice" }));
    expect(await client.pttl(fence)).toBeGreaterThan(49 * dayMs);
  });

  test("is removed by a fenceTtlMs of Infinity, and not set again by other values", async () => {
    await node().acquire(acquireRequest("alice"));
    await node({ fenceTtlMs: Infinity }).extend(extendRequest("alice"));
    expect(await client.pttl(fence)).toBe(-1);
    await node().extend(extendRequest("alice", { fence: 9 }));
    expect(await client.pttl(fence)).toBe(-1);
    expect(await client.get(fence)).toBe("9");
  });

  test("is independent for each of several resources", async () => {
    await node({ fenceTtlMs: Infinity }).acquire(acquireRequest("alice", { resources: ["a"] }));
    await node().release(releaseRequest("alice", ["a"]));
    await node().acquire(acquireRequest("bob", { resources: ["a", "b"] }));
    expect(await client.pttl(fenceKey("lock:a"))).toBe(-1);
    expect(await client.pttl(fenceKey("lock:b"))).toBeGreaterThan(0);
  });
});

describe("the server", () => {
  test("gets one command per operation", async () => {
    const resources = ["a", "b", "c"];
    const { acquire, extend, release, inspect } = node();
    await acquire(acquireRequest("at first, who the server is", { resources: ["r"] }));
    await client.config("RESETSTAT");
    await acquire(acquireRequest("alice", { resources }));
    await extend(extendRequest("alice", { resources }));
    await release(releaseRequest("alice", resources));
    await inspect("a");
    const stats = await client.info("commandstats");
    expect(stats).toContain("cmdstat_evalsha:calls=4,");
    expect(stats).not.toContain("cmdstat_eval:");
    expect(stats).not.toMatch(/cmdstat_(script|info)/);
  });

  test("without the permission to publish still frees locks", async () => {
    await client.acl("SETUSER", "mute", "on", ">secret", "~*", "+@all", "-publish");
    const mute = await nodeOver({ username: "mute", password: "secret" });
    await mute.acquire(acquireRequest("alice"));
    expect(await mute.release(releaseRequest("alice"))).toEqual({ released: true });
    expect(await client.exists("lock:r")).toBe(0);
  });

  test("denies nothing to a user with the documented permissions", async () => {
    await allow(server, await documentedPermissions());
    const allowed = await nodeOver(user);
    await client.acl("LOG", "RESET");
    for (const terms of [{}, { waiter: "w" }, { takeover: "alice" }]) {
      await allowed.acquire(acquireRequest("alice", terms));
      await allowed.acquire(acquireRequest("bob", { waiter: "b" }));
      await allowed.extend(extendRequest("alice", { ttlMs: 2 * longMs }));
      await allowed.inspect("r");
      await allowed.release({ ...releaseRequest("alice"), ...("waiter" in terms && terms) });
    }
    const refused = ((await client.acl("LOG")) as unknown[][]).map((entry) => entry[entry.indexOf("object") + 1]);
    // The identification of the server may be denied.
    expect(refused.filter((object) => object !== "info")).toEqual([]);
  });

  test("that must not write causes an error, and nothing changes", async () => {
    await client.config("SET", "min-replicas-to-write", "1");
    try {
      await expect(node().acquire(acquireRequest("alice"))).rejects.toThrow("NOREPLICAS");
    } finally {
      await client.config("SET", "min-replicas-to-write", "0");
    }
    expect(await client.dbsize()).toBe(0);
  });

  test("that is out of memory grants nothing, and still releases", async () => {
    await node().acquire(acquireRequest("alice"));
    await client.config("SET", "maxmemory", "1");
    try {
      await expect(node().acquire(acquireRequest("bob", { resources: ["s"] }))).rejects.toThrow("OOM");
      expect(await node().release(releaseRequest("alice"))).toEqual({ released: true });
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
    expect(await client.zrange(waitingListKey("lock:a"), "0", "-1")).toEqual(["w"]);
    expect(await client.exists(waitingListKey("lock:b"))).toBe(0);
  });

  test("does not name resources that the requesting owner holds", async () => {
    await node().acquire(acquireRequest("alice", { resources: ["a"], ttlMs: 90_000 }));
    await node().acquire(acquireRequest("bob", { resources: ["c"], ttlMs: 50_000 }));
    for (const resources of [
      ["a", "b"],
      ["a", "b", "c"],
    ]) {
      const denied = { granted: false, retryAfterMs: expect.any(Number) };
      expect(await node().acquire(acquireRequest("alice", { resources }))).toEqual(denied);
    }
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
    await node().acquire(acquireRequest(owner));
    expect(await node().acquire(acquireRequest("alice"))).toMatchObject({ holder: owner });
    for (const value of ["redis://user:s3cr3t@db", `${"x".repeat(5_000)}${owner}`]) {
      await client.set("lock:r", value, "PX", 1_000);
      expect(await node().acquire(acquireRequest("alice"))).not.toHaveProperty("holder");
    }
  });

  test("by a server that does not vote is an error, even for several resources", async () => {
    const guarded = node({ restartGuardMs: longMs });
    const recovering = guarded.acquire(acquireRequest("alice", { resources: ["a", "b"] }));
    await expect(recovering).rejects.toThrow("recovering from a restart");
  });
});

describe("release()", () => {
  test("publishes only on the channels of the resources that it freed", async () => {
    const subscriber = client.duplicate();
    const heard: string[] = [];
    subscriber.on("message", (channel) => heard.push(channel));
    const channels = ["a", "b", "c", "end"].map((name) => `holdfast:released:lock:${name}`);
    await subscriber.subscribe(...channels);
    await node().acquire(acquireRequest("alice", { resources: ["a", "c"] }));
    await node().acquire(acquireRequest("bob", { resources: ["b"] }));
    await node().release(releaseRequest("alice", ["a", "b", "c"]));
    await client.publish("holdfast:released:lock:end", "");
    await expect.poll(() => heard).toContain("holdfast:released:lock:end");
    expect(heard).toEqual(["a", "c", "end"].map((name) => `holdfast:released:lock:${name}`));
    subscriber.disconnect();
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

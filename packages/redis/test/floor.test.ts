import { type AcquireRequest, EpochError, type LockNode, type ScannedClaim, type ScanPortion } from "@holdfast/core";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { eventually } from "@holdfast/redis-testkit/timing";
import { startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { floorKey, redisNode } from "../src/index.ts";
import { fenceKey, sharersKey } from "../src/keys.ts";
import { connectionOver, startBench } from "./connection.ts";

const { client, node, nodeOver, server } = await startBench();
const largest = Number.MAX_SAFE_INTEGER;
const key = floorKey("lock:");

type FloorNode = Required<Pick<LockNode, "raiseFloor" | "scan" | "inspect">> & LockNode;

function floorNode(options: Parameters<typeof node>[0] = {}): FloorNode {
  return node({ verifyServer: false, ...options }) as FloorNode;
}

function raise({ raiseFloor }: FloorNode, floor: number, epoch = 0) {
  return raiseFloor({ floor, epoch, timeoutMs: longMs });
}

/** Reads all portions. */
async function scanned({ scan }: FloorNode, between: () => Promise<unknown> = async () => {}) {
  const portions: ScanPortion[] = [];
  for (let cursor: string | undefined; ; ) {
    const portion = await scan({ ...(cursor !== undefined && { cursor }), timeoutMs: longMs });
    portions.push(portion);
    cursor = portion.cursor;
    if (cursor === undefined) break;
    await between();
  }
  return {
    portions,
    highest: Math.max(...portions.map(({ highest }) => highest)),
    counters: portions.reduce((sum, { counters }) => sum + counters, 0),
    claims: portions
      .flatMap(({ claims }) => claims)
      .sort((a, b) => (a.resource + a.owner < b.resource + b.owner ? -1 : 1)),
  };
}

const namesOf = (claims: readonly ScannedClaim[]) => claims.map(({ resource, owner }) => `${resource} ${owner}`);

describe("raiseFloor()", () => {
  test("raises the floor and the epoch, each unless it is as high already, in a key without a ttl", async () => {
    const it = floorNode();
    expect(await raise(it, 0)).toEqual({ floor: 0, epoch: 0 });
    expect(await client.exists(key)).toBe(0);
    expect(await raise(it, 7, 2)).toEqual({ floor: 7, epoch: 2 });
    expect(await raise(it, 6, 3)).toEqual({ floor: 7, epoch: 3 });
    expect(await raise(it, 9, 1)).toEqual({ floor: 9, epoch: 3 });
    expect(await raise(it, 0)).toEqual({ floor: 9, epoch: 3 });
    expect(await client.get(key)).toBe("9 3");
    expect(await client.pttl(key)).toBe(-1);
    expect(await raise(it, largest, largest)).toEqual({ floor: largest, epoch: largest });
  });

  test("of many clients at once ends with the highest floor and the highest epoch", async () => {
    const nodes = (await Promise.all([nodeOver({}), nodeOver({}), nodeOver({})])) as FloorNode[];
    const raises = Array.from({ length: 300 }, (_, index) =>
      raise(nodes[index % 3] as FloorNode, 1 + ((index * 7) % 300), 1 + ((index * 11) % 300)),
    );
    for (const [index, raised] of (await Promise.all(raises)).entries()) {
      expect(raised.floor).toBeGreaterThanOrEqual(1 + ((index * 7) % 300));
      expect(raised.epoch).toBeGreaterThanOrEqual(1 + ((index * 11) % 300));
    }
    expect(await raise(floorNode(), 0)).toEqual({ floor: 300, epoch: 300 });
  });

  test("concerns one prefix", async () => {
    await raise(floorNode({ prefix: "a:" }), 7, 3);
    expect(await raise(floorNode({ prefix: "" }), 0)).toEqual({ floor: 0, epoch: 0 });
    expect(await floorNode({ prefix: "b:" }).acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    await expect(floorNode({ prefix: "a:" }).acquire(acquireRequest("alice"))).rejects.toThrow(EpochError);
  });

  test("survives a restart of a server that keeps its counters", async () => {
    const persistent = await startRedisServer({ appendonly: true });
    const own = new Redis(persistent.port);
    onTestFinished(async () => {
      own.disconnect();
      await persistent.stop();
    });
    own.on("error", () => {});
    const it = redisNode(connectionOver(own), { verifyServer: false }) as FloorNode;
    await eventually(async () => expect(await raise(it, 70, 2)).toEqual({ floor: 70, epoch: 2 }));
    await persistent.restart();
    await eventually(async () => expect(await raise(it, 0)).toEqual({ floor: 70, epoch: 2 }));
    expect(await it.acquire(acquireRequest("alice", { epoch: 2 }))).toEqual({ granted: true, fence: 71 });
  });

  test("and scan() reject on a replica", async () => {
    const replica = await startRedisServer({ args: ["--replicaof", `127.0.0.1 ${server.port}`] });
    const own = new Redis(replica.port);
    onTestFinished(async () => {
      own.disconnect();
      await replica.stop();
    });
    const it = redisNode(connectionOver(own), { verifyServer: false }) as FloorNode;
    await eventually(() => expect(own.status).toBe("ready"));
    for (const [floor, epoch] of [
      [0, 0],
      [7, 0],
      [0, 1],
    ] as const) {
      await expect(raise(it, floor, epoch)).rejects.toThrow("READONLY");
    }
    await expect(it.scan({ timeoutMs: longMs })).rejects.toThrow("READONLY");
  });

  test("rejects invalid numbers, and sends nothing", async () => {
    for (const wrong of [-1, 1.5, largest + 1]) {
      await expect(raise(floorNode(), wrong)).rejects.toThrow(RangeError);
      await expect(raise(floorNode(), 0, wrong)).rejects.toThrow(RangeError);
    }
    expect(await client.exists(key)).toBe(0);
  });

  test("rejects, like scan(), while the client is not connected, and after timeoutMs", async () => {
    const unconnected = redisNode({ ...connectionOver(client), isReady: () => false }) as FloorNode;
    await expect(raise(unconnected, 1)).rejects.toThrow("not connected");
    await expect(unconnected.scan({ timeoutMs: longMs })).rejects.toThrow("not connected");
    const silent = { ...connectionOver(client), runScript: () => new Promise(() => {}) };
    const { raiseFloor, scan } = redisNode(silent) as FloorNode;
    await expect(raiseFloor({ floor: 1, epoch: 0, timeoutMs: 1 })).rejects.toThrow("timed out");
    await expect(scan({ timeoutMs: 1 })).rejects.toThrow("timed out");
  });

  test("and scan() are absent on a Redis Cluster, whose locks read no floor", async () => {
    const calls: unknown[][] = [];
    const cluster = redisNode(
      {
        ...connectionOver(client),
        isCluster: true,
        runScript(_command, _script, call) {
          calls.push(call.keysAndArguments().slice(call.keyCount).map(String));
          return new Promise(() => {});
        },
      },
      { verifyServer: false },
    );
    expect([cluster.raiseFloor, cluster.scan]).toEqual([undefined, undefined]);
    cluster.acquire(acquireRequest("alice")).catch(() => {});
    await new Promise(process.nextTick);
    expect(calls[0]?.[3]).toBe("");
  });
});

describe("an error of raiseFloor() or scan()", () => {
  test("says what acquire() says, without the place in the script", async () => {
    const it = floorNode();
    await client.set(key, "not a floor");
    const message = `ERR the floor ${key} is unusable: not two safe integers`;
    await expect(raise(it, 1)).rejects.toThrow(new Error(message));
    await expect(it.acquire(acquireRequest("alice"))).rejects.toThrow(new Error(message));
    const restarted = `1@${"0".repeat(40)}`;
    await expect(it.scan({ cursor: restarted, timeoutMs: longMs })).rejects.toThrow(
      new Error("ERR the server has restarted, so the scan must begin again"),
    );
  });
});

describe("a floor", () => {
  const granted = (fence: number) => ({ granted: true, fence });

  test("is what every lower counter counts as in a grant", async () => {
    const it = floorNode();
    await raise(it, 70);
    expect(await it.acquire(acquireRequest("alice"))).toEqual(granted(71));
    await it.release(releaseRequest("alice"));
    expect(await it.acquire(acquireRequest("bob"))).toEqual(granted(72));
    expect(await it.acquire(acquireRequest("carol", { resources: ["s"], fenceHint: 71 }))).toEqual(granted(71));
    expect(await it.acquire(acquireRequest("dave", { resources: ["t"], fenceHint: 500 }))).toEqual(granted(500));
    expect(await client.get(fenceKey("lock:r"))).toBe("72");
  });

  test.each<[string, Partial<AcquireRequest>]>([
    ["several resources", { resources: ["q", "r"] }],
    ["a waiter", { waiter: "w" }],
    ["a shared claim of a free resource", { shared: true }],
  ])("counts in the general path: %s", async (_, terms) => {
    const it = floorNode();
    await raise(it, 70);
    expect(await it.acquire(acquireRequest("alice", terms))).toEqual(granted(71));
    await it.release(releaseRequest("alice", terms.resources));
    expect(await it.acquire(acquireRequest("bob", terms))).toEqual(granted(72));
  });

  test("counts in a takeover", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice"));
    await raise(it, 70);
    expect(await it.acquire(acquireRequest("bob", { takeover: "alice" }))).toEqual(granted(71));
  });

  test("counts on a node with a restart guard", async () => {
    const it = floorNode({ restartGuardMs: 1 });
    await raise(it, 70);
    await eventually(async () => expect(await it.acquire(acquireRequest("alice", { ttlMs: 1 }))).toEqual(granted(71)));
  });

  test("is the fence of a claim that joins sharers with a lower one", async () => {
    const it = floorNode();
    expect(await it.acquire(acquireRequest("alice", { shared: true }))).toEqual(granted(1));
    await raise(it, 70);
    expect(await it.acquire(acquireRequest("bob", { shared: true }))).toEqual(granted(70));
    expect(await it.acquire(acquireRequest("carol", { shared: true }))).toEqual(granted(70));
    await raise(it, 50);
    expect(await it.acquire(acquireRequest("dave", { shared: true }))).toEqual(granted(70));
  });

  test("does not change a repeated grant, an extension, or the counter that inspect() returns", async () => {
    const it = floorNode();
    for (const shared of [false, true]) {
      await client.del(key);
      const terms = { resources: [String(shared)], shared };
      await it.acquire(acquireRequest("alice", terms));
      await raise(it, 70);
      expect(await it.acquire(acquireRequest("alice", terms))).toEqual(granted(1));
      expect(await it.extend(extendRequest("alice", terms))).toEqual({ held: true, fence: 1 });
      expect(await it.inspect(String(shared))).toMatchObject({ owner: "alice", fence: 1, floor: 70 });
    }
    expect(await it.extend(extendRequest("bob", { resources: ["b"], rejoin: true }))).toEqual({
      held: false,
      rejoined: true,
    });
    expect(await it.inspect("b")).toMatchObject({ owner: "bob", fence: 1, floor: 70 });
    expect(await floorNode({ prefix: "other:" }).inspect("r")).not.toHaveProperty("floor");
  });

  test("counts for every claim of a batch, and is read once", async () => {
    const it = floorNode();
    await raise(it, 70);
    await it.acquire(acquireRequest("warm-up", { resources: ["warm-up"] }));
    await client.config("RESETSTAT");
    const claims = ["a", "b", "c"].map((name) => it.acquire(acquireRequest(name, { resources: [name] })));
    expect(await Promise.all([...claims, it.inspect("d")])).toMatchObject([
      ...[granted(71), granted(71), granted(71)],
      { floor: 70 },
    ]);
    // Two for each claim and for inspect(), and one for the floor.
    expect(await client.info("commandstats")).toContain("cmdstat_get:calls=9,");
  });

  test("at the largest integer causes an error, and nothing changes", async () => {
    const it = floorNode();
    await raise(it, largest - 1);
    expect(await it.acquire(acquireRequest("alice"))).toEqual(granted(largest));
    await raise(it, largest);
    for (const terms of [{ resources: ["s"] }, { resources: ["s", "t"] }]) {
      await expect(it.acquire(acquireRequest("bob", terms))).rejects.toThrow("is used up");
    }
    expect(await it.inspect("r")).toMatchObject({ fence: largest, floor: largest });
    expect((await client.keys("*")).sort()).toEqual([key, fenceKey("lock:r"), "lock:r"].sort());
  });

  test.each(["", "7", "7 ", " 7 1", "7 1 ", "-7 1", "7 x", "1.5 1", `${largest + 1} 1`, `1 ${largest + 1}`, "7\n1"])(
    "with the value %j causes an error that names the key, and nothing changes",
    async (garbage) => {
      const it = floorNode();
      await client.set(key, garbage);
      for (const terms of [{}, { resources: ["r", "s"] }, { shared: true }]) {
        await expect(it.acquire(acquireRequest("alice", terms))).rejects.toThrow(`the floor ${key} is unusable`);
      }
      await expect(it.inspect("r")).rejects.toThrow(`the floor ${key} is unusable`);
      await expect(raise(it, 9, 1)).rejects.toThrow(`the floor ${key} is unusable`);
      expect(await client.keys("*")).toEqual([key]);
      expect(await client.get(key)).toBe(garbage);
    },
  );

  test("of another type causes an error that names the key; extend() and release() do not read it", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice"));
    await client.rpush(key, "not a floor");
    await expect(it.acquire(acquireRequest("bob"))).rejects.toThrow(`the floor ${key} is unusable: WRONGTYPE`);
    await expect(raise(it, 9, 1)).rejects.toThrow(`the floor ${key} is unusable: WRONGTYPE`);
    expect(await it.extend(extendRequest("alice"))).toEqual({ held: true, fence: 1 });
    expect(await it.release(releaseRequest("alice"))).toEqual({ released: true });
  });
});

describe("an epoch", () => {
  test.each([
    [0, [1, 2, 3, 1000], []],
    [1, [1, 2], [3, 4]],
    [2, [1, 2, 3], [4, 5]],
    [4, [3, 4, 5], [1, 2, 6, 7]],
    [largest - 1, [largest - 2, largest - 1, largest], [1, largest - 3]],
  ])("of %i lets clients of the epochs %j lock, and not those of %j", async (epoch, served, refused) => {
    const it = floorNode();
    await raise(it, 0, epoch);
    for (const [index, terms] of [{}, { waiter: "w" }, { shared: true }, { resources: ["a", "b"] }].entries()) {
      const claim = (ofClient: number) => {
        const owner = `${index} ${ofClient}`;
        return it.acquire(
          acquireRequest(owner, { resources: [owner], ...terms, ...(ofClient > 1 && { epoch: ofClient }) }),
        );
      };
      await client.del("lock:a", "lock:b");
      for (const ofClient of refused) {
        const before = await client.dbsize();
        await expect(claim(ofClient)).rejects.toEqual(new EpochError(epoch, ofClient));
        expect(await client.dbsize()).toBe(before);
      }
      for (const ofClient of served) {
        await client.del("lock:a", "lock:b");
        expect(await claim(ofClient)).toMatchObject({ granted: true });
      }
    }
  });

  test("refuses a repeated claim and a claim of a held resource, and lets holders extend and release", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice"));
    await raise(it, 0, 3);
    await expect(it.acquire(acquireRequest("alice"))).rejects.toThrow(EpochError);
    await expect(it.acquire(acquireRequest("bob", { waiter: "w" }))).rejects.toThrow(EpochError);
    expect(await it.extend(extendRequest("alice", { rejoin: true }))).toEqual({ held: true, fence: 1 });
    expect(await it.release(releaseRequest("alice"))).toEqual({ released: true });
    expect(await it.extend(extendRequest("alice", { rejoin: true }))).toEqual({ held: false, rejoined: true });
  });

  test("refuses one claim of a batch without affecting the others", async () => {
    const it = floorNode();
    await raise(it, 0, 3);
    const [old, present, next] = await Promise.allSettled(
      [undefined, 3, 4].map((epoch, index) =>
        it.acquire(acquireRequest(`${index}`, { resources: [`${index}`], ...(epoch && { epoch }) })),
      ),
    );
    expect(old).toMatchObject({ reason: { code: "EPOCH", message: new EpochError(3, 1).message } });
    expect([present, next]).toMatchObject([{ value: { granted: true } }, { value: { granted: true } }]);
  });

  test("in an owner of another stage does not hide the owner from a denial", async () => {
    const it = floorNode();
    const owner = `jobs:${"0123456789abcdef".repeat(2)}.3`;
    await it.acquire(acquireRequest(owner));
    expect(await it.acquire(acquireRequest("bob"))).toMatchObject({ granted: false, holder: owner });
  });
});

describe("scan()", () => {
  test("of an empty server reads nothing", async () => {
    expect(await floorNode().scan({ timeoutMs: longMs })).toEqual({ counters: 0, highest: 0, claims: [] });
  });

  test("reads counters and claims: exclusive, shared, of other programs and with any name", async () => {
    const it = floorNode();
    const names = ["plain", "{tag}rest", "a}b", "{}", "*?[x]\\", "日本 🔒", "zero\u0000byte", "line\nbreak", "lock:"];
    for (const [index, name] of names.entries()) {
      await it.acquire(acquireRequest(`owner of ${index}`, { resources: [name], fenceHint: 100 + index }));
    }
    for (const owner of ["one", "two"])
      await it.acquire(acquireRequest(owner, { resources: ["shared"], shared: true }));
    await it.acquire(acquireRequest("gone", { resources: ["released"], fenceHint: 9_000 }));
    await it.release(releaseRequest("gone", ["released"]));
    await client.set(fenceKey("lock:foreign"), "5");
    await client.set("lock:foreign", "another program");
    await client.set(fenceKey("lock:list"), "6");
    await client.rpush("lock:list", "no claim");
    await client.set(`holdfast:fence:other`, "no counter");
    await raise(it, 10_000);
    const { counters, highest, claims } = await scanned(it);
    expect({ counters, highest }).toEqual({ counters: names.length + 4, highest: 9_000 });
    const expected = names.map((name, index) => `${name} owner of ${index}`);
    expect(namesOf(claims).sort()).toEqual([...expected, "shared one", "shared two", "foreign another program"].sort());
    for (const { resource, remainingMs } of claims) {
      if (resource === "foreign") expect(remainingMs).toBe(Infinity);
      else expect(remainingMs).toBeGreaterThan(longMs / 2);
      expect(remainingMs === Infinity || remainingMs <= longMs).toBe(true);
    }
  });

  test("reads nothing of another prefix, whatever characters the prefixes have", async () => {
    const prefixes = ["a*", "ab", "a?", "a[b]", "a\\", "{a}", "a}", "ä:"];
    for (const [index, prefix] of prefixes.entries()) {
      await floorNode({ prefix }).acquire(acquireRequest(prefix, { resources: ["x"], fenceHint: index + 1 }));
    }
    for (const [index, prefix] of prefixes.entries()) {
      expect(await scanned(floorNode({ prefix })), prefix).toMatchObject({
        counters: 1,
        highest: index + 1,
        claims: [{ resource: "x", owner: prefix }],
      });
    }
    expect((await scanned(floorNode({ prefix: "" }))).counters).toBe(prefixes.length);
  });

  test("lists a shared resource whose sharers were lost as held by unknown sharers, and no expired sharer", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice", { shared: true }));
    await it.acquire(acquireRequest("late", { shared: true }));
    await client.zadd(sharersKey("lock:r"), 1, "late");
    expect(namesOf((await scanned(it)).claims)).toEqual(["r alice"]);
    await client.del(sharersKey("lock:r"));
    expect(namesOf((await scanned(it)).claims)).toEqual(["r unknown sharers"]);
  });

  test("reads a resource that very many owners share", async () => {
    const it = floorNode();
    const owners = Array.from({ length: 5_000 }, (_, index) => `owner ${index}`);
    await Promise.all(owners.map((owner) => it.acquire(acquireRequest(owner, { shared: true }))));
    expect(new Set(namesOf((await scanned(it)).claims)).size).toBe(owners.length);
  });

  test.each(["x", "", "-1", "9007199254740992"])(
    "rejects a counter with the value %j, and names it",
    async (garbage) => {
      await client.set(fenceKey("lock:r"), garbage);
      await expect(scanned(floorNode())).rejects.toThrow(`the fence counter ${fenceKey("lock:r")} is unusable`);
    },
  );

  test("reads 100 000 counters in bounded portions, all of them while keys are added and removed", async () => {
    const total = 100_000;
    for (let from = 0; from < total; from += 10_000) {
      const pairs = Array.from({ length: 10_000 }, (_, index) => [
        fenceKey(`lock:r${from + index}`),
        String(from + index + 1),
      ]);
      await client.mset(pairs.flat());
    }
    const claimed = Array.from({ length: 50 }, (_, index) => `r${index * 2_000}`);
    for (const name of claimed) await client.set(`lock:${name}`, name);
    let step = 0;
    const { portions, highest, counters, claims } = await scanned(floorNode(), async () => {
      step += 1;
      const passing = Array.from({ length: 100 }, (_, index) => fenceKey(`lock:passing ${step} ${index}`));
      await client.mset(passing.flatMap((name) => [name, "1"]));
      if (step % 2 === 0) await client.unlink(passing);
    });
    expect(highest).toBe(total);
    expect(counters).toBeGreaterThanOrEqual(total);
    for (const portion of portions) expect(portion.counters).toBeLessThan(500);
    expect(new Set(claims.map(({ resource }) => resource))).toEqual(new Set(claimed));
  }, 60_000);

  test("reads the counters between many other keys in few portions", async () => {
    await client.mset(Array.from({ length: 20_000 }, (_, index) => [`other ${index}`, "1"]).flat());
    await floorNode().acquire(acquireRequest("alice"));
    const { portions, counters } = await scanned(floorNode());
    expect(counters).toBe(1);
    expect(portions.length).toBeLessThan(100);
  });

  test("rejects the cursor of another run of the server", async () => {
    await client.mset(Array.from({ length: 5_000 }, (_, index) => [`other ${index}`, "1"]).flat());
    const { cursor = "" } = await floorNode().scan({ timeoutMs: longMs });
    expect(cursor).toMatch(/^\d+@[0-9a-f]{40}$/);
    const other = { cursor: cursor.replace(/@.*/, `@${"0".repeat(40)}`), timeoutMs: longMs };
    await expect(floorNode().scan(other)).rejects.toThrow("the server has restarted");
  });

  test.each(["", "0", "5", "@", `0@${"0".repeat(40)}`, `5@${"0".repeat(39)}`, `x@${"0".repeat(40)}`])(
    "rejects the cursor %j, which it did not make",
    async (cursor) => {
      await expect(floorNode().scan({ cursor, timeoutMs: longMs })).rejects.toThrow(RangeError);
    },
  );

  test("changes nothing", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice"));
    await it.acquire(acquireRequest("bob", { resources: ["s"], shared: true }));
    await client.config("RESETSTAT");
    await scanned(it);
    expect(await client.info("persistence")).toContain("rdb_changes_since_last_save:");
    const stats = await client.info("commandstats");
    expect(stats).not.toMatch(/cmdstat_(set|del|zadd|pexpire)/);
  });
});

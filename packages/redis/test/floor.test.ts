import { EpochError } from "@holdfast/core";
import type { ScannedClaim } from "@holdfast/core/node";
import { acquireRequest, longMs, releaseRequest, scanAll } from "@holdfast/redis-testkit/requests";
import { eventually } from "@holdfast/redis-testkit/timing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { clusterSlot, lockNames, type RedisNode, type RedisNodeOptions, redisNode } from "../src/index.ts";
import { fenceKey } from "../src/keys.ts";
import { clientOf, clusterOfOne, connectionOver, serverForTest, startBench } from "./connection.ts";

const { client, node, server } = await startBench();
const largest = Number.MAX_SAFE_INTEGER;
const slotCount = 16_384;
const names = lockNames("lock:", "r");

function floorNode(options: RedisNodeOptions = {}): RedisNode {
  return node({ verifyServer: false, ...options });
}

function raise({ raiseFloor }: RedisNode, floor: number, epoch = 0) {
  return raiseFloor({ floor, epoch, timeoutMs: longMs });
}

/** Returns the run id of the server. */
async function runId(): Promise<string> {
  return /run_id:(\w+)/.exec(await client.info("server"))?.[1] as string;
}

/** Returns the different values of all counters. */
async function valuesOfCounters(): Promise<Set<string | null>> {
  return new Set(await client.mget(Array.from({ length: slotCount }, (_, slot) => fenceKey("lock:", slot))));
}

const namesOf = (claims: readonly ScannedClaim[]) => claims.map(({ resource, owner }) => `${resource} ${owner}`);

describe("raiseFloor()", () => {
  test("writes every counter of the prefix, in portions, without a ttl, and reports the lowest", async () => {
    const it = floorNode();
    await raise(it, 0); // loads the script
    await client.config("RESETSTAT");
    expect(await raise(it, 7, 2)).toEqual({ floor: 7, epoch: 2 });
    expect(await client.info("commandstats")).toContain("cmdstat_evalsha:calls=33,"); // the last one looks for a restart
    expect(await valuesOfCounters()).toEqual(new Set(["7 2"]));
    expect(await client.dbsize()).toBe(slotCount);
    expect(await client.info("keyspace")).toContain(`keys=${slotCount},expires=0,`);
    expect(await raise(it, largest, largest)).toEqual({ floor: largest, epoch: largest });
    expect(await valuesOfCounters()).toEqual(new Set([`${largest} ${largest}`]));
  });

  test("keeps the mark of a claim that was made again while the server did not vote", async () => {
    const it = floorNode();
    await client.set(names.fence, "012 1");
    await raise(it, 5);
    expect(await client.get(names.fence)).toBe("012 1");
    await raise(it, 70, 2);
    expect(await client.get(names.fence)).toBe("070 2");
    expect(await it.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 71 });
    expect(await client.get(names.fence)).toBe("071 2");
  });

  test("with zeros only reads", async () => {
    const it = floorNode();
    expect(await raise(it, 0)).toEqual({ floor: 0, epoch: 0 });
    expect(await client.dbsize()).toBe(0);
    await client.set(names.fence, "0100 2");
    await client.config("RESETSTAT");
    expect(await raise(it, 0)).toEqual({ floor: 0, epoch: 0 });
    expect(await client.info("commandstats")).not.toMatch(/cmdstat_(m?set|del|expire|pexpire)/);
    expect(await client.keys("*")).toEqual([names.fence]);
    await raise(it, 9, 3);
    expect(await raise(it, 0)).toEqual({ floor: 9, epoch: 3 });
    await client.del(fenceKey("lock:", 16_383));
    expect(await raise(it, 0)).toEqual({ floor: 0, epoch: 0 });
  });

  test("concerns one prefix", async () => {
    await raise(floorNode({ prefix: "a:" }), 7, 3);
    expect(await raise(floorNode({ prefix: "" }), 0)).toEqual({ floor: 0, epoch: 0 });
    expect(await floorNode({ prefix: "b:" }).acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    await expect(floorNode({ prefix: "a:" }).acquire(acquireRequest("alice"))).rejects.toThrow(EpochError);
  });

  test("rejects if the server restarts before all is raised, as it may have forgotten the rest", async () => {
    const forgetful = await serverForTest();
    const own = await clientOf(forgetful, { retryStrategy: () => 5 });
    const connection = connectionOver(own);
    let calls = 0;
    const restarting = {
      ...connection,
      async runScript(...command: Parameters<typeof connection.runScript>) {
        if (++calls === 9) {
          await forgetful.restart();
          await eventually(async () => expect(await own.ping()).toBe("PONG"));
        }
        return connection.runScript(...command);
      },
    };
    await raise(redisNode(connection, { verifyServer: false }), 1);
    const it = redisNode(restarting, { verifyServer: false });
    await expect(raise(it, 7)).rejects.toThrow("the server has restarted, so the floor must be raised again");
    expect(await raise(it, 7)).toEqual({ floor: 7, epoch: 0 });
  });

  test("and scan() reject on a replica", async () => {
    const replica = await serverForTest({ args: ["--replicaof", `127.0.0.1 ${server.port}`] });
    const it = redisNode(connectionOver(await clientOf(replica)), { verifyServer: false });
    for (const [floor, epoch] of [
      [0, 0],
      [7, 0],
      [0, 1],
    ] as const) {
      await expect(raise(it, floor, epoch)).rejects.toThrow("READONLY");
    }
    await expect(it.scan({ timeoutMs: longMs })).rejects.toThrow("READONLY");
  });

  test("rejects, like scan(), while the client is not connected, and after timeoutMs", async () => {
    const unconnected = redisNode({ ...connectionOver(client), isReady: () => false });
    await expect(raise(unconnected, 1)).rejects.toThrow("not connected");
    await expect(unconnected.scan({ timeoutMs: longMs })).rejects.toThrow("not connected");
    const silent = { ...connectionOver(client), runScript: () => new Promise(() => {}) };
    const { raiseFloor, scan } = redisNode(silent);
    await expect(raiseFloor({ floor: 1, epoch: 0, timeoutMs: 1 })).rejects.toThrow("timed out");
    await expect(scan({ timeoutMs: 1 })).rejects.toThrow("timed out");
  });
});

test.each([
  ["while it raises", 4_500, 17],
  ["while it looks for a restart", 9_500, 33],
])(
  "raiseFloor() sends four calls at once after the first, and ends after timeoutMs as a whole, %s",
  async (_, timeoutMs, calls) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let sent = 0;
    const { raiseFloor } = redisNode({
      ...connectionOver(client),
      isReady: () => true,
      async runScript(_, __, call) {
        sent += 1;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        return [call.keysAndArguments()[call.keyCount], "0".repeat(40), 1_024, "1", "1", "0"];
      },
    });
    const rejected = expect(raiseFloor({ floor: 1, epoch: 0, timeoutMs })).rejects.toThrow("timed out");
    await vi.advanceTimersByTimeAsync(timeoutMs + 10);
    await rejected;
    await vi.advanceTimersByTimeAsync(9_000);
    expect(sent).toBe(calls);
  },
);

describe("an error of raiseFloor() or scan()", () => {
  test("says what acquire() says, without the place in the script", async () => {
    const it = floorNode();
    await client.set(names.fence, "no counter");
    const message = `ERR the fence counter ${names.fence} is not a safe integer`;
    await expect(raise(it, 1)).rejects.toThrow(new Error(message));
    await expect(scanAll(it)).rejects.toThrow(new Error(message));
    await expect(it.acquire(acquireRequest("alice"))).rejects.toThrow(new Error(message));
    const restarted = `keys 1@${"0".repeat(40)}`;
    await expect(it.scan({ cursor: restarted, timeoutMs: longMs })).rejects.toThrow(
      new Error("ERR the server has restarted, so the scan must begin again"),
    );
  });

  test("names a counter that is none, which stays as it is", async () => {
    const it = floorNode();
    const counter = fenceKey("lock:", 0);
    const problem = `the fence counter ${counter} is`;
    for (const garbage of ["", "x", " 7", "7 x", "-7 1", "1.5 1", "7 1 1", "7\n1", `${largest + 1} 1`]) {
      await client.set(counter, garbage);
      await expect(raise(it, 9, 1)).rejects.toThrow(`${problem} not a safe integer`);
      await expect(it.scan({ timeoutMs: longMs })).rejects.toThrow(`${problem} not a safe integer`);
      expect(await client.get(counter)).toBe(garbage);
    }
    await client.del(counter);
    await client.rpush(counter, "no counter");
    await expect(raise(it, 9, 1)).rejects.toThrow(`${problem} WRONGTYPE`);
    expect(await client.type(counter)).toBe("list");
  });
});

describe("an epoch", () => {
  test("of one of several resources refuses the claim of all", async () => {
    const it = floorNode();
    await client.set(lockNames("lock:", "s").fence, "4 3");
    const both = { resources: ["r", "s"] };
    await expect(it.acquire(acquireRequest("alice", both))).rejects.toEqual(new EpochError(3, 1));
    expect(await it.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    const later = { ...both, epoch: 4, takeover: "alice" };
    expect(await it.acquire(acquireRequest("bob", later))).toEqual({ granted: true, fence: 5 });
    expect(await client.mget([names.fence, lockNames("lock:", "s").fence])).toEqual(["5", "5 3"]);
  });
});

describe("scan()", () => {
  test("reads all counters in portions, and then looks for claims", async () => {
    const it = floorNode();
    const { portions, ...found } = await scanAll(it);
    expect(found).toEqual({ highest: 0, counters: 0, claims: [] });
    expect(portions[0]).toEqual({ counters: 0, highest: 0, claims: [], cursor: `counters 512@${await runId()}` });
    expect(portions.map(({ cursor }) => cursor).slice(31)).toEqual([`keys 0@${await runId()}`, undefined]);
    await raise(it, 7);
    await client.set(names.fence, "9 4");
    expect(await scanAll(it)).toMatchObject({ counters: slotCount, highest: 9, claims: [] });
  });

  test("does not look for claims where the request does not want any", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice", { fenceHint: 5 }));
    await client.config("RESETSTAT");
    const { portions, ...found } = await scanAll(it, { claims: false });
    expect(found).toEqual({ highest: 5, counters: 1, claims: [] });
    expect(portions).toHaveLength(32);
    expect(await client.info("commandstats")).not.toContain("cmdstat_scan");
    expect((await scanAll(it, { claims: true })).claims).toHaveLength(1);
  });

  test("reads the claims of other programs, and counters of this version only", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice", { fenceHint: 9 }));
    await client.set(lockNames("lock:", "foreign").fence, "5");
    await client.set("lock:foreign", "another program");
    await client.rpush("lock:list", "no claim");
    await client.set("lock:long", "x".repeat(600));
    await client.set("holdfast:fence:{lock:old}", "no counter of this version");
    const { counters, highest, claims } = await scanAll(it);
    expect({ counters, highest }).toEqual({ counters: 2, highest: 9 });
    expect(claims).toEqual([
      { resource: "foreign", owner: "another program", remainingMs: Infinity },
      { resource: "r", owner: "alice", remainingMs: expect.any(Number) },
    ]);
  });

  test("reads nothing of another prefix, whatever characters the prefixes have", async () => {
    const prefixes = ["a*", "ab", "a?", "a[b]", "a\\", "{a}", "a}", "ä:"];
    for (const [index, prefix] of prefixes.entries()) {
      await floorNode({ prefix }).acquire(acquireRequest(prefix, { resources: ["x"], fenceHint: index + 1 }));
    }
    for (const [index, prefix] of prefixes.entries()) {
      expect(await scanAll(floorNode({ prefix })), prefix).toMatchObject({
        counters: 1,
        highest: index + 1,
        claims: [{ resource: "x", owner: prefix }],
      });
    }
    expect(await scanAll(floorNode({ prefix: "" }))).toMatchObject({ counters: 0, claims: [] });
  });

  test.each(["h", "holdfast:", "holdfast:fence", "holdfast:sharers"])(
    "finds no counters or sharers where these have the prefix %j of the locks, too",
    async (prefix) => {
      const it = floorNode({ prefix });
      await it.acquire(acquireRequest("alice"));
      await it.acquire(acquireRequest("bob", { resources: ["s"], shared: true }));
      await raise(it, 5, 1);
      expect(namesOf((await scanAll(it)).claims)).toEqual(["r alice", "s bob"]);
    },
  );

  test("with an empty prefix finds only strings that end as owners do, and shared locks", async () => {
    const it = floorNode({ prefix: "" });
    const digits = "0123456789abcdef".repeat(2);
    for (const [index, owner] of [digits, `jobs:${digits}`, `${digits}.12`].entries()) {
      await it.acquire(acquireRequest(owner, { resources: [`exclusive ${index}`] }));
    }
    for (const owner of ["one", "two"]) {
      await it.acquire(acquireRequest(owner, { resources: ["shared"], shared: true }));
    }
    const others = [
      "",
      "a value",
      `${digits} `,
      `${digits}.x`,
      digits.slice(1),
      `${"x".repeat(600)}${digits}`,
      "12345",
    ];
    for (const [index, value] of others.entries()) await client.set(`foreign ${index}`, value);
    await client.set("bytes", Buffer.from(`${"x".repeat(15)}\u00ff0`, "latin1"));
    await client.rpush("list", digits);
    await client.zadd("sorted set", 1, digits);
    await raise(it, 5, 1);
    expect(namesOf((await scanAll(it)).claims)).toEqual([
      `exclusive 0 ${digits}`,
      `exclusive 1 jobs:${digits}`,
      `exclusive 2 ${digits}.12`,
      "shared one",
      "shared two",
    ]);
  });

  test("lists a shared resource whose sharers were lost as held by unknown sharers", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice", { shared: true }));
    await client.del(names.sharers);
    expect(namesOf((await scanAll(it)).claims)).toEqual(["r unknown sharers"]);
  });

  test("reads a resource that very many owners share", async () => {
    const it = floorNode();
    const owners = Array.from({ length: 5_000 }, (_, index) => `owner ${index}`);
    await Promise.all(owners.map((owner) => it.acquire(acquireRequest(owner, { shared: true }))));
    expect(new Set(namesOf((await scanAll(it)).claims)).size).toBe(owners.length);
  });

  test("finds claims between other keys in bounded portions, and rejects the cursor of another run", async () => {
    const it = floorNode();
    const total = 100_000;
    for (let from = 0; from < total; from += 10_000) {
      await client.mset(Array.from({ length: 10_000 }, (_, index) => [`other ${from + index}`, "1"]).flat());
    }
    const claimed = Array.from({ length: 2_000 }, (_, index) => `r${index}`);
    await client.mset(claimed.flatMap((name) => [`lock:${name}`, name]));
    const { portions, claims } = await scanAll(it);
    for (const portion of portions) expect(portion.claims.length).toBeLessThan(1_500);
    const found = new Set(claims.map(({ resource }) => resource));
    expect(claimed.filter((name) => !found.has(name))).toEqual([]);
    expect(portions.length).toBeLessThan(300);

    const cursor = portions.find((portion) => /^keys [1-9]/.test(portion.cursor ?? ""))?.cursor as string;
    expect(cursor).toMatch(/^keys [1-9]\d*@[0-9a-f]{40}$/);
    for (const position of [cursor.replace(/@.*/, ""), "counters 1024"]) {
      const another = it.scan({ cursor: `${position}@${"0".repeat(40)}`, timeoutMs: longMs });
      await expect(another).rejects.toThrow("the server has restarted");
    }
  });

  test.each([
    ...["", "0", "5", "@", `0@${"0".repeat(40)}`, "keys", "keys 0", "keys 64", "counters", "counters 1024"],
    ...["keys 0@", `keys 5@${"0".repeat(39)}`, `keys x@${"0".repeat(40)}`, `keys 5@${"0".repeat(40)}\n`],
    ...[16_384, -1, 1.5].map((slot) => `counters ${slot}@${"0".repeat(40)}`),
  ])("rejects the cursor %j, which it did not make", async (cursor) => {
    await expect(floorNode().scan({ cursor, timeoutMs: longMs })).rejects.toThrow(RangeError);
  });
});

describe("on a Redis Cluster", { timeout: 120_000 }, () => {
  /** Creates a node over a cluster of one shard. The tests of the adapters have several. */
  async function clustered() {
    const clusterClient = await clusterOfOne();
    const connection = { ...connectionOver(clusterClient), isCluster: true };
    return { clusterClient, it: redisNode(connection, { verifyServer: false }) };
  }

  test("scan() finds all counters and claims", async () => {
    const { it } = await clustered();
    const resources = ["a", "b", "{}c"];
    for (const resource of resources) await it.acquire(acquireRequest("alice", { resources: [resource] }));
    for (const owner of ["one", "two"]) {
      await it.acquire(acquireRequest(owner, { resources: ["shared"], shared: true }));
    }
    await it.acquire(acquireRequest("gone", { resources: ["released"], fenceHint: 500 }));
    await it.release(releaseRequest("gone", ["released"]));
    const { counters, highest, claims } = await scanAll(it);
    expect({ counters, highest }).toEqual({ counters: resources.length + 2, highest: 500 });
    expect(namesOf(claims)).toEqual(["a alice", "b alice", "shared one", "shared two", "{}c alice"]);
    for (const cursor of ["keys 16384", "keys 99999", "counters 16384", `keys 5@${"0".repeat(40)}`, "keys 0@"]) {
      await expect(it.scan({ cursor, timeoutMs: longMs })).rejects.toThrow(RangeError);
    }
  });

  test("scan() rejects where a slot has too many keys to be read at once", async () => {
    const { clusterClient, it } = await clustered();
    const fill = "for i = 1, 100001 do redis.call('SET', KEYS[1] .. i, '') end";
    await clusterClient.eval(fill, 1, "{full}");
    const cursor = `keys ${clusterSlot("full")}`;
    await expect(it.scan({ cursor, timeoutMs: longMs })).rejects.toThrow(
      /^ERR slot \d+ has 100001 keys, and a scan reads at most 100000 of a slot: keep the data of other programs/,
    );
    await clusterClient.del("{full}1");
    expect(await it.scan({ cursor, timeoutMs: longMs })).toMatchObject({ claims: [] });
  });

  test("raiseFloor() sends the calls of 512 counters at once, and leaves no timer when one of them fails", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    let sent = 0;
    const { raiseFloor } = redisNode({
      ...connectionOver(client),
      isCluster: true,
      runScript: () => (++sent === 500 ? Promise.reject(new Error("refused")) : new Promise(() => {})),
    });
    await expect(raiseFloor({ floor: 1, epoch: 0, timeoutMs: longMs })).rejects.toThrow("refused");
    expect(sent).toBe(512);
    expect(timers()).toBe(before);
  });
});

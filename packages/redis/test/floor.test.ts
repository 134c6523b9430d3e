import {
  type AcquireRequest,
  EpochError,
  type LockNode,
  type ScannedClaim,
  type ScanPortion,
  type ScanRequest,
} from "@holdfast/core";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { eventually } from "@holdfast/redis-testkit/timing";
import { startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { Cluster, Redis } from "ioredis";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { clusterSlot, lockNames, redisNode } from "../src/index.ts";
import { fenceKey } from "../src/keys.ts";
import { connectionOver, startBench } from "./connection.ts";

const { client, node, nodeOver, server } = await startBench();
const largest = Number.MAX_SAFE_INTEGER;
const slotCount = 16_384;
const names = lockNames("lock:", "r");

type FloorNode = Required<Pick<LockNode, "raiseFloor" | "scan" | "inspect">> & LockNode;

function floorNode(options: Parameters<typeof node>[0] = {}): FloorNode {
  return node({ verifyServer: false, ...options }) as FloorNode;
}

function raise({ raiseFloor }: FloorNode, floor: number, epoch = 0) {
  return raiseFloor({ floor, epoch, timeoutMs: longMs });
}

/** Reads all portions. */
async function scanned({ scan }: FloorNode, between: () => Promise<unknown> = async () => {}, terms = {}) {
  const portions: ScanPortion[] = [];
  for (let cursor: string | undefined; ; ) {
    const request: ScanRequest = { ...(cursor !== undefined && { cursor }), timeoutMs: longMs, ...terms };
    const portion = await scan(request);
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

/** Returns the run id of the server. */
async function runId(): Promise<string> {
  return /run_id:(\w+)/.exec(await client.info("server"))?.[1] as string;
}

/** Returns the values of all counters of a prefix, by slot. */
async function countersOf(prefix = "lock:"): Promise<(string | null)[]> {
  return client.mget(Array.from({ length: slotCount }, (_, slot) => fenceKey(prefix, slot)));
}

const namesOf = (claims: readonly ScannedClaim[]) => claims.map(({ resource, owner }) => `${resource} ${owner}`);

describe("raiseFloor()", () => {
  test("writes every counter of the prefix, in portions, without a ttl, and reports the lowest", async () => {
    const it = floorNode();
    await raise(it, 0); // loads the script
    await client.config("RESETSTAT");
    expect(await raise(it, 7, 2)).toEqual({ floor: 7, epoch: 2 });
    expect(await client.info("commandstats")).toContain("cmdstat_evalsha:calls=33,"); // the last one looks for a restart
    expect(new Set(await countersOf())).toEqual(new Set(["7 2"]));
    expect(await client.dbsize()).toBe(slotCount);
    expect(await client.info("keyspace")).toContain(`keys=${slotCount},expires=0,`);
    expect(await raise(it, largest, largest)).toEqual({ floor: largest, epoch: largest });
    expect(new Set(await countersOf())).toEqual(new Set([`${largest} ${largest}`]));
  });

  test("raises the number and the epoch of each counter, each unless it is as high already", async () => {
    const it = floorNode();
    const slot = clusterSlot("lock:r");
    const values = async () => {
      const [own, ...others] = [names.fence, fenceKey("lock:", (slot + 1) % slotCount), fenceKey("lock:", 0)];
      const [ofOwn, ...ofOthers] = await client.mget([own as string, ...others]);
      expect(new Set(ofOthers).size).toBe(1);
      return [ofOwn, ofOthers[0]];
    };
    await client.set(names.fence, "100");
    expect(await raise(it, 7)).toEqual({ floor: 7, epoch: 0 });
    expect(await values()).toEqual(["100", "7"]);
    expect(await raise(it, 6, 3)).toEqual({ floor: 7, epoch: 3 });
    expect(await values()).toEqual(["100 3", "7 3"]);
    await client.set(names.fence, "5 9");
    expect(await raise(it, 9, 1)).toEqual({ floor: 9, epoch: 3 });
    expect(await values()).toEqual(["9 9", "9 3"]);
    expect(await raise(it, 9, 10)).toEqual({ floor: 9, epoch: 10 });
    expect(await values()).toEqual(["9 10", "9 10"]);
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
    expect(await client.info("commandstats")).not.toMatch(/cmdstat_(set|del|expire|pexpire)/);
    expect(await client.keys("*")).toEqual([names.fence]);
    await raise(it, 9, 3);
    expect(await raise(it, 0)).toEqual({ floor: 9, epoch: 3 });
    await client.del(fenceKey("lock:", 16_383));
    expect(await raise(it, 0)).toEqual({ floor: 0, epoch: 0 });
  });

  test("of many clients at once ends with the highest floor and the highest epoch", async () => {
    const nodes = (await Promise.all([nodeOver({}), nodeOver({}), nodeOver({})])) as FloorNode[];
    const raises = Array.from({ length: 30 }, (_, index) =>
      raise(nodes[index % 3] as FloorNode, 1 + ((index * 7) % 30), 1 + ((index * 11) % 30)),
    );
    for (const [index, raised] of (await Promise.all(raises)).entries()) {
      expect(raised.floor).toBeGreaterThanOrEqual(1 + ((index * 7) % 30));
      expect(raised.epoch).toBeGreaterThanOrEqual(1 + ((index * 11) % 30));
    }
    expect(new Set(await countersOf())).toEqual(new Set(["30 30"]));
  });

  test("lets every grant that begins after it be above the floor, and none repeat, while locks go on", async () => {
    const it = floorNode();
    const fences: number[] = [];
    let floor = 0;
    const lockFor = async (name: string) => {
      while (floor < 3_000) {
        const least = floor;
        const reply = await it.acquire(acquireRequest(name, { resources: [name] }));
        if (!reply.granted) throw new Error("not granted");
        expect(reply.fence).toBeGreaterThan(least);
        fences.push(reply.fence);
        await it.release(releaseRequest(name, [name]));
      }
    };
    const lockers = [lockFor("r")];
    for (const next of [1_000, 2_000, 3_000]) {
      await raise(it, next);
      floor = next;
    }
    await Promise.all(lockers);
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
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

  test("rejects if the server restarts before all is raised, as it may have forgotten the rest", async () => {
    const forgetful = await startRedisServer();
    const own = new Redis(forgetful.port, { retryStrategy: () => 5 });
    onTestFinished(async () => {
      own.disconnect();
      await forgetful.stop();
    });
    own.on("error", () => {});
    const connection = connectionOver(own);
    await eventually(() => expect(own.status).toBe("ready"));
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
    const it = redisNode(restarting, { verifyServer: false }) as FloorNode;
    await expect(raise(it, 7)).rejects.toThrow("the server has restarted, so the floor must be raised again");
    expect(await raise(it, 7)).toEqual({ floor: 7, epoch: 0 });
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
    expect(await client.dbsize()).toBe(0);
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
    }) as FloorNode;
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
    await expect(scanned(it)).rejects.toThrow(new Error(message));
    await expect(it.acquire(acquireRequest("alice"))).rejects.toThrow(new Error(message));
    const restarted = `keys 1@${"0".repeat(40)}`;
    await expect(it.scan({ cursor: restarted, timeoutMs: longMs })).rejects.toThrow(
      new Error("ERR the server has restarted, so the scan must begin again"),
    );
  });

  test.each(["", "x", " 7", "7 x", "-7 1", "1.5 1", "7 1 1", "7\n1", `${largest + 1} 1`])(
    "names a counter with the value %j, and changes none of its portion",
    async (garbage) => {
      await client.set(names.fence, garbage);
      const problem = `the fence counter ${names.fence} is not a safe integer`;
      await expect(raise(floorNode(), 9, 1)).rejects.toThrow(problem);
      await expect(scanned(floorNode())).rejects.toThrow(problem);
      expect(await client.get(names.fence)).toBe(garbage);
    },
  );

  test("names a counter of another type", async () => {
    await client.rpush(names.fence, "no counter");
    await expect(raise(floorNode(), 9, 1)).rejects.toThrow(`the fence counter ${names.fence} is WRONGTYPE`);
    expect(await client.type(names.fence)).toBe("list");
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
    expect(await client.get(names.fence)).toBe("72");
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

  test("is part of the counter that a repeated grant, an extension and inspect() return", async () => {
    const it = floorNode();
    for (const [shared, floor] of [
      [false, 70],
      [true, 90],
    ] as const) {
      const terms = { resources: [String(shared)], shared };
      await it.acquire(acquireRequest("alice", terms));
      await raise(it, floor);
      expect(await it.acquire(acquireRequest("alice", terms))).toEqual(granted(floor));
      expect(await it.extend(extendRequest("alice", terms))).toEqual({ held: true, fence: floor });
      expect(await it.inspect(String(shared))).toMatchObject({ owner: "alice", fence: floor });
    }
    const rejoining = extendRequest("bob", { resources: ["b"], rejoin: true });
    expect(await it.extend(rejoining)).toEqual({ held: false, rejoined: true });
    expect(await it.inspect("b")).toEqual({ owner: "bob", remainingMs: expect.any(Number), fence: 91 });
    expect(await floorNode({ prefix: "other:" }).inspect("r")).toMatchObject({ fence: 0 });
  });

  test("counts for every claim of a batch", async () => {
    const it = floorNode();
    await raise(it, 70);
    const claims = ["a", "b", "c"].map((name) => it.acquire(acquireRequest(name, { resources: [name] })));
    expect(await Promise.all([...claims, it.inspect("d")])).toMatchObject([
      ...[granted(71), granted(71), granted(71)],
      { fence: 70 },
    ]);
  });

  test("at the largest integer causes an error, and nothing changes", async () => {
    const it = floorNode();
    await raise(it, largest - 1);
    expect(await it.acquire(acquireRequest("alice"))).toEqual(granted(largest));
    await raise(it, largest);
    for (const terms of [{ resources: ["s"] }, { resources: ["s", "t"] }]) {
      await expect(it.acquire(acquireRequest("bob", terms))).rejects.toThrow("is used up");
    }
    expect(await it.inspect("r")).toMatchObject({ owner: "alice", fence: largest });
    expect(await client.dbsize()).toBe(slotCount + 1);
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
      // A grant keeps the epoch of its counters.
      await client.del("lock:a", "lock:b", ...served.map((ofClient) => `lock:${index} ${ofClient}`));
      for (const ofClient of refused) await expect(claim(ofClient)).rejects.toThrow(EpochError);
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
    expect(await it.extend(extendRequest("alice", { fence: 9 }))).toEqual({ held: true, fence: 9 });
    expect(await client.get(names.fence)).toBe("9 3");
  });

  test("stays with the counter through grants and extensions of all kinds", async () => {
    const it = floorNode();
    await raise(it, 0, 3);
    const terms = { epoch: 3 };
    const expectKept = async () => {
      const values = (await client.mget(["r", "s"].map((name) => lockNames("lock:", name).fence))) as string[];
      expect(values.map((value) => value.split(" ")[1])).toEqual(["3", "3"]);
      await expect(it.acquire(acquireRequest("old"))).rejects.toThrow(EpochError);
      await expect(it.acquire(acquireRequest("old", { waiter: "w" }))).rejects.toThrow(EpochError);
    };
    await it.acquire(acquireRequest("alice", { ...terms, fenceHint: 50 }));
    await expectKept();
    await it.extend(extendRequest("alice", { fence: 90 }));
    await expectKept();
    await it.acquire(acquireRequest("bob", { ...terms, takeover: "alice" }));
    await it.release(releaseRequest("bob"));
    await it.acquire(acquireRequest("carol", { ...terms, resources: ["r", "s"], shared: true }));
    await it.acquire(acquireRequest("dave", { ...terms, shared: true, fenceHint: 200 }));
    await expectKept();
    for (const owner of ["carol", "dave"]) await it.release(releaseRequest(owner, ["r", "s"]));
    await it.extend(extendRequest("erin", { rejoin: true, fence: 500 }));
    await expectKept();
    expect(await it.inspect("r")).toMatchObject({ owner: "erin", fence: 500 });
  });

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
  test("reads all counters in portions, and then looks for claims", async () => {
    const it = floorNode();
    const { portions, ...found } = await scanned(it);
    expect(found).toEqual({ highest: 0, counters: 0, claims: [] });
    expect(portions[0]).toEqual({ counters: 0, highest: 0, claims: [], cursor: `counters 512@${await runId()}` });
    expect(portions.map(({ cursor }) => cursor).slice(31)).toEqual([`keys 0@${await runId()}`, undefined]);
    await raise(it, 7);
    await client.set(names.fence, "9 4");
    expect(await scanned(it)).toMatchObject({ counters: slotCount, highest: 9, claims: [] });
  });

  test("does not look for claims where the request does not want any", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice", { fenceHint: 5 }));
    await client.config("RESETSTAT");
    const { portions, ...found } = await scanned(it, undefined, { claims: false });
    expect(found).toEqual({ highest: 5, counters: 1, claims: [] });
    expect(portions).toHaveLength(32);
    expect(await client.info("commandstats")).not.toContain("cmdstat_scan");
    expect((await scanned(it, undefined, { claims: true })).claims).toHaveLength(1);
  });

  test("reads counters and claims: exclusive, shared, of other programs and with any name", async () => {
    const it = floorNode();
    const resources = [
      "plain",
      "{tag}rest",
      "a}b",
      "{}",
      "*?[x]\\",
      "日本 🔒",
      "zero\u0000byte",
      "line\nbreak",
      "lock:",
    ];
    for (const [index, name] of resources.entries()) {
      await it.acquire(acquireRequest(`owner of ${index}`, { resources: [name], fenceHint: 100 + index }));
    }
    for (const owner of ["one", "two"])
      await it.acquire(acquireRequest(owner, { resources: ["shared"], shared: true }));
    await it.acquire(acquireRequest("gone", { resources: ["released"], fenceHint: 9_000 }));
    await it.release(releaseRequest("gone", ["released"]));
    await client.set(lockNames("lock:", "foreign").fence, "5");
    await client.set("lock:foreign", "another program");
    await client.rpush("lock:list", "no claim");
    await client.set("lock:long", "x".repeat(600));
    await client.set("holdfast:fence:{lock:old}", "no counter of this version");
    const { counters, highest, claims } = await scanned(it);
    expect({ counters, highest }).toEqual({ counters: resources.length + 3, highest: 9_000 });
    const expected = resources.map((name, index) => `${name} owner of ${index}`);
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
    expect(await scanned(floorNode({ prefix: "" }))).toMatchObject({ counters: 0, claims: [] });
  });

  test.each(["h", "holdfast:", "holdfast:fence", "holdfast:sharers"])(
    "finds no counters or sharers where these have the prefix %j of the locks, too",
    async (prefix) => {
      const it = floorNode({ prefix });
      await it.acquire(acquireRequest("alice"));
      await it.acquire(acquireRequest("bob", { resources: ["s"], shared: true }));
      await raise(it, 5, 1);
      expect(namesOf((await scanned(it)).claims)).toEqual(["r alice", "s bob"]);
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
    expect(namesOf((await scanned(it)).claims)).toEqual([
      `exclusive 0 ${digits}`,
      `exclusive 1 jobs:${digits}`,
      `exclusive 2 ${digits}.12`,
      "shared one",
      "shared two",
    ]);
  });

  test("lists a shared resource whose sharers were lost as held by unknown sharers, and no expired sharer", async () => {
    const it = floorNode();
    await it.acquire(acquireRequest("alice", { shared: true }));
    await it.acquire(acquireRequest("late", { shared: true }));
    await client.zadd(names.sharers, 1, "late");
    expect(namesOf((await scanned(it)).claims)).toEqual(["r alice"]);
    await client.del(names.sharers);
    expect(namesOf((await scanned(it)).claims)).toEqual(["r unknown sharers"]);
  });

  test("reads a resource that very many owners share", async () => {
    const it = floorNode();
    const owners = Array.from({ length: 5_000 }, (_, index) => `owner ${index}`);
    await Promise.all(owners.map((owner) => it.acquire(acquireRequest(owner, { shared: true }))));
    expect(new Set(namesOf((await scanned(it)).claims)).size).toBe(owners.length);
  });

  test("finds claims between 100 000 other keys in bounded portions, while keys are added and removed", async () => {
    const total = 100_000;
    for (let from = 0; from < total; from += 10_000) {
      await client.mset(Array.from({ length: 10_000 }, (_, index) => [`other ${from + index}`, "1"]).flat());
    }
    const claimed = Array.from({ length: 2_000 }, (_, index) => `r${index}`);
    await client.mset(claimed.flatMap((name) => [`lock:${name}`, name]));
    let step = 0;
    const { portions, claims } = await scanned(floorNode(), async () => {
      step += 1;
      const passing = Array.from({ length: 100 }, (_, index) => `lock:passing ${step} ${index}`);
      await client.mset(passing.flatMap((name) => [name, "1"]));
      if (step % 2 === 0) await client.unlink(passing);
    });
    for (const portion of portions) expect(portion.claims.length).toBeLessThan(1_500);
    const found = new Set(claims.map(({ resource }) => resource));
    expect(claimed.filter((name) => !found.has(name))).toEqual([]);
    expect(portions.length).toBeLessThan(300);
  }, 60_000);

  test("rejects the cursor of another run of the server", async () => {
    await client.mset(Array.from({ length: 30_000 }, (_, index) => [`other ${index}`, "1"]).flat());
    const { cursor = "" } = await floorNode().scan({ cursor: `keys 0@${await runId()}`, timeoutMs: longMs });
    expect(cursor).toMatch(/^keys [1-9]\d*@[0-9a-f]{40}$/);
    expect((await floorNode().scan({ cursor, timeoutMs: longMs })).cursor).not.toBe(cursor);
    const other = { cursor: cursor.replace(/@.*/, `@${"0".repeat(40)}`), timeoutMs: longMs };
    await expect(floorNode().scan(other)).rejects.toThrow("the server has restarted");
    const counters = { cursor: `counters 1024@${"0".repeat(40)}`, timeoutMs: longMs };
    await expect(floorNode().scan(counters)).rejects.toThrow("the server has restarted");
  });

  test.each([
    ...["", "0", "5", "@", `0@${"0".repeat(40)}`, "keys", "keys 0", "keys 64", "counters", "counters 1024"],
    ...["keys 0@", `keys 5@${"0".repeat(39)}`, `keys x@${"0".repeat(40)}`, `keys 5@${"0".repeat(40)}\n`],
    ...[16_384, -1, 1.5].map((slot) => `counters ${slot}@${"0".repeat(40)}`),
  ])("rejects the cursor %j, which it did not make", async (cursor) => {
    await expect(floorNode().scan({ cursor, timeoutMs: longMs })).rejects.toThrow(RangeError);
  });

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

/** Starts a cluster of two shards, with a node over it. */
async function clustered() {
  const shards = await startRedisCluster(2);
  const cluster = new Cluster(shards.servers.map(({ port }) => ({ host: "127.0.0.1", port })));
  onTestFinished(async () => {
    cluster.disconnect();
    await shards.stop();
  });
  const it = redisNode(
    {
      name: "a cluster",
      isCluster: true,
      isReady: () => cluster.status === "ready",
      runScript: (command, script, call) => cluster.call(command, script, call.keyCount, ...call.keysAndArguments()),
    },
    { verifyServer: false },
  ) as FloorNode;
  await eventually(() => expect(cluster.status).toBe("ready"));
  return { shards, cluster, it };
}

describe("on a Redis Cluster", { timeout: 120_000 }, () => {
  test("raiseFloor() raises the counters of every shard, and scan() finds all counters and claims", async () => {
    const { shards, it } = await clustered();
    const keysOn = () => Promise.all(shards.servers.map(({ command }) => command("DBSIZE")));

    const owners = Array.from({ length: 20 }, (_, index) => `owner ${String(index).padStart(2, "0")}`);
    for (const owner of owners) await it.acquire(acquireRequest(owner, { resources: [`of ${owner}`] }));
    for (const owner of ["one", "two"]) {
      await it.acquire(acquireRequest(owner, { resources: ["shared"], shared: true }));
    }
    await it.acquire(acquireRequest("gone", { resources: ["released"], fenceHint: 500 }));
    await it.release(releaseRequest("gone", ["released"]));
    const own = (await keysOn()) as number[];
    expect(Math.min(...own)).toBeGreaterThan(2);

    expect(await raise(it, 100, 2)).toEqual({ floor: 100, epoch: 2 });
    // Each claim and its counter; those of the shared one have a set of sharers as well.
    const locks = owners.length + 2;
    expect(own.reduce((sum, count) => sum + count)).toBe(2 * locks);
    expect(((await keysOn()) as number[]).reduce((sum, count) => sum + count)).toBe(slotCount + locks);
    expect(await it.acquire(acquireRequest("bob", { resources: ["new"], epoch: 3 }))).toEqual({
      granted: true,
      fence: 101,
    });
    await expect(it.acquire(acquireRequest("bob", { resources: ["newer"], epoch: 4 }))).rejects.toThrow(EpochError);

    const { counters, highest, claims } = await scanned(it);
    expect({ counters, highest }).toEqual({ counters: slotCount, highest: 500 });
    const expected = [...owners.map((owner) => `of ${owner} ${owner}`), "new bob", "shared one", "shared two"];
    expect(namesOf(claims).sort()).toEqual(expected.sort());
    for (const cursor of ["keys 16384", "keys 99999", "counters 16384", `keys 5@${"0".repeat(40)}`, "keys 0@"]) {
      await expect(it.scan({ cursor, timeoutMs: longMs })).rejects.toThrow(RangeError);
    }
  });

  test("scan() rejects where a slot has too many keys to be read at once", async () => {
    const { cluster, it } = await clustered();
    const fill = "for i = 1, 100001 do redis.call('SET', KEYS[1] .. i, '') end";
    await cluster.eval(fill, 1, "{full}");
    const cursor = `keys ${clusterSlot("full")}`;
    await expect(it.scan({ cursor, timeoutMs: longMs })).rejects.toThrow(
      /^ERR slot \d+ has 100001 keys, and a scan reads at most 100000 of a slot: keep the data of other programs/,
    );
    await cluster.del("{full}1");
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
    }) as FloorNode;
    await expect(raiseFloor({ floor: 1, epoch: 0, timeoutMs: longMs })).rejects.toThrow("refused");
    expect(sent).toBe(512);
    expect(timers()).toBe(before);
  });
});

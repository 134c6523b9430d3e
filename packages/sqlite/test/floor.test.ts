import { rename } from "node:fs/promises";
import { EpochError } from "@holdfast/core";
import Database from "libsql";
import { describe, expect, test } from "vitest";
import { type SqliteNode, sqliteNode } from "../src/index.ts";
import { claimOf } from "./requests.ts";
import { drivers } from "./subject.ts";
import { openNode, temporaryFile } from "./temporary.ts";

const timeoutMs = 60_000;
const zeros = { floor: 0, epoch: 0, timeoutMs };

/** Reads the whole file, and returns the counts and claims of each portion. Calls `between` after each portion. */
async function scanAll(node: SqliteNode, between?: () => Promise<unknown>) {
  const portions = [];
  let cursor: string | undefined;
  do {
    const portion = await node.scan({ timeoutMs, ...(cursor !== undefined && { cursor }) });
    portions.push(portion);
    cursor = portion.cursor;
    await between?.();
  } while (cursor !== undefined);
  return {
    portions: portions.length,
    counters: portions.reduce((sum, { counters }) => sum + counters, 0),
    highest: Math.max(...portions.map(({ highest }) => highest)),
    claims: portions.flatMap(({ claims }) => claims),
  };
}

describe("the floor of sqliteNode()", () => {
  test.each(drivers)(
    "raiseFloor() raises each number by itself, never lowers one, and outlives the process: %s",
    async (driver) => {
      const path = await temporaryFile();
      const node = await sqliteNode(path, { driver });
      expect(await node.raiseFloor(zeros)).toEqual({ floor: 0, epoch: 0 });
      expect(await node.raiseFloor({ floor: 100, epoch: 3, timeoutMs })).toEqual({ floor: 100, epoch: 3 });
      expect(await node.raiseFloor({ floor: 50, epoch: 4, timeoutMs })).toEqual({ floor: 100, epoch: 4 });
      const most = Number.MAX_SAFE_INTEGER;
      expect(await node.raiseFloor({ floor: most, epoch: 1, timeoutMs })).toEqual({ floor: most, epoch: 4 });
      node.close();
      expect(await (await openNode(path, { driver })).raiseFloor(zeros)).toEqual({ floor: most, epoch: 4 });
    },
  );

  test("raiseFloor() of many clients at once ends with the highest of all", async () => {
    const path = await temporaryFile();
    const nodes = await Promise.all(Array.from({ length: 4 }, () => openNode(path)));
    const requests = Array.from({ length: 200 }, (_, index) => ({
      floor: (index * 37) % 200,
      epoch: (index * 73) % 200,
      timeoutMs,
    }));
    const replies = await Promise.all(
      requests.map(async (request, index) => nodes[index % nodes.length]?.raiseFloor(request)),
    );
    for (const [index, reply] of replies.entries()) {
      expect(reply?.floor).toBeGreaterThanOrEqual(requests[index]?.floor ?? Infinity);
      expect(reply?.epoch).toBeGreaterThanOrEqual(requests[index]?.epoch ?? Infinity);
    }
    expect(await nodes[0]?.raiseFloor(zeros)).toEqual({ floor: 199, epoch: 199 });
  });

  test("acquire() grants above the floor where counters are below, also with a takeover and for several", async () => {
    const node = await openNode(await temporaryFile());
    await node.acquire(claimOf("alice", ["a"], { fenceHint: 70 }));
    await node.raiseFloor({ floor: 50, epoch: 0, timeoutMs });
    expect(await node.acquire(claimOf("bob", ["b"]))).toEqual({ granted: true, fence: 51 });
    expect(await node.acquire(claimOf("carol", ["c"], { fenceHint: 60 }))).toEqual({ granted: true, fence: 60 });
    const both = { takeover: "alice" };
    expect(await node.acquire(claimOf("dave", ["a", "d"], both))).toEqual({ granted: true, fence: 71 });
    await node.raiseFloor({ floor: 90, epoch: 0, timeoutMs });
    expect(await node.acquire(claimOf("erin", ["a", "d"], { takeover: "dave" }))).toEqual({ granted: true, fence: 91 });
  });

  test("acquire() obeys a floor that is further ahead than a hint may be", async () => {
    const node = await openNode(await temporaryFile(), { nowMs: () => 1_000_000 });
    await node.raiseFloor({ floor: 10 ** 15, epoch: 0, timeoutMs });
    expect(await node.acquire(claimOf("alice", ["r"]))).toEqual({ granted: true, fence: 10 ** 15 + 1 });
  });

  test("acquire() repeats a grant, and extend() keeps and rejoins, with the counter alone", async () => {
    const node = await openNode(await temporaryFile());
    await node.acquire(claimOf("alice", ["r"], { fenceHint: 5 }));
    await node.raiseFloor({ floor: 100, epoch: 9, timeoutMs });
    const again = claimOf("alice", ["r"], { epoch: 9 });
    expect(await node.acquire(again)).toEqual({ granted: true, fence: 5 });
    const extension = { ...claimOf("alice", ["r"]), fence: 6, rejoin: true };
    expect(await node.extend(extension)).toEqual({ held: true, fence: 6 });
    expect(await node.release(again)).toEqual({ released: true });
    expect(await node.extend(extension)).toEqual({ held: false, rejoined: true });
    expect(await node.inspect("r")).toMatchObject({ owner: "alice", fence: 7, floor: 100 });
  });

  test("acquire() fails if the floor uses up the counters, and changes nothing", async () => {
    const node = await openNode(await temporaryFile());
    await node.raiseFloor({ floor: Number.MAX_SAFE_INTEGER, epoch: 0, timeoutMs });
    await expect(node.acquire(claimOf("alice", ["r"]))).rejects.toThrow("used up");
    expect(await node.inspect("r")).toMatchObject({ owner: null, fence: 0 });
  });

  test("acquire() serves clients whose epoch differs from the node's by 1 at most, and writes nothing for others", async () => {
    const node = await openNode(await temporaryFile());
    const granted = { granted: true, fence: expect.any(Number) };
    expect(await node.acquire(claimOf("alice", ["a"], { epoch: 7 }))).toEqual(granted);
    await node.raiseFloor({ floor: 0, epoch: 3, timeoutMs });
    for (const epoch of [undefined, 1, 5]) {
      const request = claimOf("bob", ["r"], { ...(epoch && { epoch }), waiter: "B" });
      await expect(node.acquire(request)).rejects.toThrow(new EpochError(3, epoch ?? 1));
    }
    // A repeated request is refused like the first one, and the claim goes on.
    await expect(node.acquire(claimOf("alice", ["a"], { epoch: 7 }))).rejects.toBeInstanceOf(EpochError);
    expect(await scanAll(node)).toMatchObject({ counters: 1, claims: [{ resource: "a", owner: "alice" }] });
    for (const epoch of [2, 3, 4]) {
      expect(await node.acquire(claimOf(`c${epoch}`, [`r${epoch}`], { epoch }))).toEqual(granted);
    }
    expect(await node.release(claimOf("alice", ["a"]))).toEqual({ released: true });
  });

  test("sqliteNode() adds the floor to a file of an earlier version, and keeps its claims and counters", async () => {
    const path = await temporaryFile();
    const database = new Database(path);
    database.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE holdfast_claims (
        resource TEXT PRIMARY KEY, owner TEXT, expires_at_ms INTEGER NOT NULL, fence INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE holdfast_releases (id INTEGER PRIMARY KEY, resource TEXT NOT NULL, next TEXT) STRICT;
      INSERT INTO holdfast_claims VALUES ('"held"', '"alice"', 8640000000000000, 40), ('"free"', NULL, 0, 41);
    `);
    // A process of the earlier version has the file open, and goes on.
    const old = database.prepare("SELECT fence FROM holdfast_claims WHERE resource = ?");
    expect(old.get('"free"')).toMatchObject({ fence: 41 });
    const node = await openNode(path);
    expect(await node.raiseFloor({ floor: 100, epoch: 0, timeoutMs })).toEqual({ floor: 100, epoch: 0 });
    expect(await node.inspect("held")).toMatchObject({ owner: "alice", fence: 40, floor: 100 });
    expect(await node.acquire(claimOf("bob", ["free"]))).toEqual({ granted: true, fence: 101 });
    expect(old.get('"free"')).toMatchObject({ fence: 101 });
    database.close();
  });

  test("raiseFloor() and scan() reject if the file was deleted or replaced", async () => {
    const path = await temporaryFile();
    const node = await openNode(path);
    await rename(path, `${path}.old`);
    const problem = `${path} was deleted or replaced`;
    await expect(node.raiseFloor({ floor: 1, epoch: 1, timeoutMs })).rejects.toThrow(problem);
    await expect(node.scan({ timeoutMs })).rejects.toThrow(problem);
    await rename(`${path}.old`, path);
    expect(await node.raiseFloor(zeros)).toEqual({ floor: 0, epoch: 0 });
  });
});

describe("scan()", () => {
  test.each(drivers)("scan() returns every counter and every claim in force once, in portions: %s", async (driver) => {
    let nowMs = 1_000_000;
    const node = await openNode(await temporaryFile(), { driver, nowMs: () => nowMs });
    expect(await scanAll(node)).toEqual({ portions: 1, counters: 0, highest: 0, claims: [] });
    const names = ["\u00e9\ud800", 'a"b\\', ...Array.from({ length: 2_500 }, (_, index) => `r${index}`)].sort();
    await node.acquire(claimOf("alice\0", names, { fenceHint: 10 }));
    await node.acquire(claimOf("bob", ["released"], { fenceHint: 99 }));
    await node.release(claimOf("bob", ["released"]));
    await node.acquire(claimOf("carol", ["ended"], { ttlMs: 1 }));
    nowMs += 1;
    const all = await scanAll(node);
    expect(all).toMatchObject({ portions: 3, counters: 2_504, highest: 99 });
    const claims = names.map((resource) => ({ resource, owner: "alice\0", remainingMs: 599_999 }));
    expect(all.claims.toSorted((a, b) => (a.resource < b.resource ? -1 : 1))).toEqual(claims);
  });

  test("scan() reads a portion again with the same cursor, and rejects a cursor that is none of its own", async () => {
    const node = await openNode(await temporaryFile());
    const names = Array.from({ length: 1_500 }, (_, index) => `r${index}`).sort();
    await node.acquire(claimOf("alice", names));
    const { cursor = "" } = await node.scan({ timeoutMs });
    for (const _ of [1, 2]) expect((await node.scan({ timeoutMs, cursor })).counters).toBe(500);
    await expect(node.scan({ timeoutMs, cursor: "r7" })).rejects.toThrow(RangeError);
  });

  test("scan() ends after a last portion that is full", async () => {
    const node = await openNode(await temporaryFile());
    const names = Array.from({ length: 2_000 }, (_, index) => `r${index}`).sort();
    await node.acquire(claimOf("alice", names));
    expect(await scanAll(node)).toMatchObject({ counters: 2_000, highest: 1 });
  });

  test("scan() finds all that lasts while resources are added and removed around it", async () => {
    const path = await temporaryFile();
    const node = await openNode(path);
    const database = new Database(path);
    const lasting = Array.from({ length: 2_500 }, (_, index) => `lasting ${index}`).sort();
    const passing = Array.from({ length: 500 }, (_, index) => `passing ${index}`).sort();
    await node.acquire(claimOf("alice", [...lasting, ...passing]));
    let added = 0;
    const all = await scanAll(node, async () => {
      database.exec("DELETE FROM holdfast_claims WHERE resource >= '\"passing'");
      added += 1;
      const names = Array.from({ length: 300 }, (_, index) => `${index} of ${added}`).sort();
      await node.acquire(claimOf("bob", ["a", ...names, "z"].sort(), { takeover: "bob" }));
    });
    database.close();
    const found = all.claims.filter(({ owner }) => owner === "alice").map(({ resource }) => resource);
    expect(found.filter((resource) => resource.startsWith("lasting")).sort()).toEqual(lasting);
    expect(new Set(all.claims.map(({ resource }) => resource)).size).toBe(all.claims.length);
  });
});

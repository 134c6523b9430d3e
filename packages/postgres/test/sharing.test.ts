import { ConfigurationError } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { postgresNode } from "@holdfast/postgres";
import { differenceInHistories } from "@holdfast/testkit";
import pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const { connectionString } = await serverOfFile();
const pool = new pg.Pool({ connectionString });
pool.on("error", () => {});
afterAll(() => pool.end());

let table: string;
let node: ReturnType<typeof postgresNode>;
beforeEach(async () => {
  table = await freshTable(connectionString);
  node = postgresNode(pool, { table });
});
afterEach(() => node.close());

const timeoutMs = 5_000;

interface Terms {
  readonly ttlMs?: number;
  readonly takeover?: string;
  readonly waiter?: string;
}

/** Claims one resource alone. */
function claim(owner: string, terms: Terms = {}) {
  return node.acquire({ resources: ["r"], owner, ttlMs: 60_000, fenceHint: 1, timeoutMs, ...terms });
}

/** Claims one resource to share it. */
function share(owner: string, terms: Terms = {}, resources: readonly string[] = ["r"]) {
  return node.acquire({ resources, owner, ttlMs: 60_000, fenceHint: 1, timeoutMs, shared: true, ...terms });
}

function release(owner: string, terms: { readonly undo?: boolean; readonly waiter?: string } = {}) {
  return node.release({ resources: ["r"], owner, timeoutMs, ...terms });
}

/** Ends a shared claim now. */
async function expire(owner: string): Promise<void> {
  const { rowCount } = await pool.query(
    `UPDATE "${table}" SET sharers = jsonb_set(sharers, ARRAY[$1, '0'], '1') WHERE sharers -> $1 IS NOT NULL`,
    [owner],
  );
  expect(rowCount).toBe(1);
}

test("postgresNode() replies as memoryNode() does in random histories of exclusive and shared requests, in which the floor rises", {
  timeout: 120_000,
}, async () => {
  const open = async () => postgresNode(pool, { table: await freshTable(connectionString), wakeUps: false });
  expect(await differenceInHistories(open, memoryNode)).toBeUndefined();
});

describe("shared claims", () => {
  test("acquire() takes over from a sole sharer, however short ago the others ended, and from no sharer among others", async () => {
    await share("a", { ttlMs: 90_000 });
    await share("b");
    expect(await claim("x", { takeover: "a" })).toMatchObject({ granted: false, heldResources: ["r"] });
    await expire("b");
    expect(await claim("x", { takeover: "a" })).toEqual({ granted: true, fence: 2 });
    expect((await node.inspect("r")).sharers).toBeUndefined();
    expect(await share("b", { takeover: "x" })).toEqual({ granted: true, fence: 3 });
    expect(await share("c", { takeover: "b" })).toEqual({ granted: true, fence: 4 });
    await share("d");
    expect(await share("e", { takeover: "c" })).toEqual({ granted: true, fence: 4 });
  });

  test("acquire() drops sharers that have ended", async () => {
    for (const owner of ["a", "b", "c"]) await share(owner);
    await expire("b");
    expect((await node.inspect("r")).sharers?.map(({ owner }) => owner).sort()).toEqual(["a", "c"]);
    await share("d");
    const { rows } = await pool.query(`SELECT jsonb_object_keys(sharers) AS owner FROM "${table}" ORDER BY owner`);
    expect(rows.map(({ owner }) => owner)).toEqual(["a", "c", "d"]);
  });

  test("acquire() accepts the longest ttl, and owners of any characters", async () => {
    const odd = "é\u0000'\"\\\ud800";
    expect((await share(odd, { ttlMs: Number.MAX_SAFE_INTEGER })).granted).toBe(true);
    const { owner, remainingMs } = await node.inspect("r");
    expect(owner).toBe(odd);
    expect(remainingMs).toBeGreaterThan(Number.MAX_SAFE_INTEGER * 0.999);
    expect(await release(odd)).toEqual({ released: true });
  });

  test("list() and deleteUnused() see a resource as held until its last sharer ends", async () => {
    const listed = async () => {
      const names: string[] = [];
      for await (const name of node.list()) names.push(name);
      return names;
    };
    await share("a");
    await share("b", { ttlMs: 90_000 });
    await release("b");
    await pool.query(`UPDATE "${table}" SET waiting_until = NULL`);
    expect(await listed()).toEqual(["r"]);
    expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(0);
    await release("a");
    expect(await listed()).toEqual([]);
    await pool.query(`UPDATE "${table}" SET until = now() - interval '61 s'`);
    expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(1);
    expect(await share("c")).toEqual({ granted: true, fence: 2 });
  });

  test("acquire() rejects with a ConfigurationError over a table without the columns of shared claims", async () => {
    await pool.query(`ALTER TABLE "${table}" DROP COLUMN sharers`);
    await expect(share("a")).rejects.toThrow(ConfigurationError);
    await expect(claim("a")).rejects.toThrow("has other columns than that of createTable()");
  });
});

describe("turns", () => {
  test("acquire() denied on another resource names all waiters of shared requests for the free one", async () => {
    const heard: (string | undefined)[] = [];
    await claim("x");
    for (const waiter of ["B", "A"]) await share("late", { waiter });
    await release("x", { undo: true });
    await node.acquire({ resources: ["held"], owner: "x", ttlMs: 60_000, fenceHint: 1, timeoutMs });
    await node.watch?.(["r"], (_, next) => heard.push(next));
    await share("late", { waiter: "C" }, ["held", "r"]);
    await expect.poll(() => heard.length).toBe(2);
    expect(heard).toEqual(["A", "B"]);
  });

  test("acquire() of an exclusive request renews its turn each time that it is denied", async () => {
    await share("a");
    await claim("x");
    expect((await share("b")).granted).toBe(true); // the exclusive request does not wait
    const deniedUntil = async () =>
      (await pool.query(`SELECT * FROM "${table}"`)).rows[0].sharers_denied_until.getTime();
    await claim("x", { waiter: "W" });
    const before = await deniedUntil();
    expect(Object(await share("c")).retryAfterMs).toBeLessThanOrEqual(2_000);
    await pool.query(`UPDATE "${table}" SET sharers_denied_until = sharers_denied_until - interval '1 s'`);
    await claim("x", { waiter: "W" }); // is in the list already
    expect(await deniedUntil()).toBeGreaterThanOrEqual(before);
  });

  test("acquire() to take over from the only sharer, denied in favour of exclusive waiters, names the first of them once", async () => {
    const heard: (string | undefined)[] = [];
    await share("a");
    for (const waiter of ["A", "B", "C"]) await claim("x", { waiter });
    await node.watch?.(["r"], (_, next) => heard.push(next));
    expect(await share("b", { takeover: "a", waiter: "R" })).toMatchObject({ granted: false, holder: "a" });
    await release("a");
    await expect.poll(() => heard).toContain("B");
    expect(heard).toEqual(["A", "B"]);
  });

  test("extend() rejoins sharers although an exclusive request with a waiter was denied", async () => {
    await share("a");
    await claim("x", { waiter: "W" });
    const request = { resources: ["r"], owner: "b", ttlMs: 60_000, fence: 1, rejoin: true, timeoutMs, shared: true };
    expect(await node.extend(request)).toEqual({ held: false, rejoined: true });
  });
});

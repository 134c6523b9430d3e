import { readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { ConfigurationError, Redlock } from "@holdfast/core";
import Database from "libsql";
import { describe, expect, test, vi } from "vitest";
import { type SqliteNodeOptions, sqliteNode } from "../src/index.ts";
import { claimOf } from "./requests.ts";
import { openNode, temporaryFile } from "./temporary.ts";

const dayMs = 24 * 60 * 60 * 1_000;

describe("sqliteNode()", () => {
  test("sqliteNode() is named after its file by default", async () => {
    const path = await temporaryFile();
    expect((await openNode(path)).name).toBe(path);
    expect((await openNode(path, { name: "local" })).name).toBe("local");
  });

  test.each<[string, unknown, string]>([
    ["an unknown option", { nowMS: Date.now }, "nowMS is not an option of sqliteNode: did you mean nowMs?"],
    ["a name that is no string", { name: 1 }, "name must be a string, not 1"],
    ["a clock that is no function", { nowMs: 1 }, "nowMs must be a function, not 1"],
    ["verifyServer that is no boolean", { verifyServer: 1 }, "verifyServer must be a boolean, not 1"],
    ["a driver of another type", { driver: {} }, "driver must be a string, not an object"],
    ["an unknown driver", { driver: "sqlite3" }, "driver must be one of node:sqlite, libsql, better-sqlite3"],
  ])("sqliteNode() rejects %s", async (_, options, message) => {
    await expect(sqliteNode(await temporaryFile(), options as SqliteNodeOptions)).rejects.toThrow(message);
  });

  test("sqliteNode() rejects a path that names no file", async () => {
    for (const path of ["", ":memory:"]) await expect(sqliteNode(path)).rejects.toThrow(RangeError);
    await expect(sqliteNode(1 as unknown as string)).rejects.toThrow("path must be a string, not 1");
  });

  test("acquire() rejects if two nodes of a Redlock are over one file, unless verifyServer is false", async () => {
    const path = await temporaryFile();
    const link = `${path}.link`;
    await openNode(path); // creates the file
    await symlink(path, link);
    const redlockOf = async (options: SqliteNodeOptions) =>
      new Redlock([await openNode(path, { ...options, name: "a" }), await openNode(link, { ...options, name: "b" })]);
    const acquiring = (await redlockOf({})).acquire("s");
    await expect(acquiring).rejects.toBeInstanceOf(ConfigurationError);
    await expect(acquiring).rejects.toThrow(/[ab] failed: it is the same server as [ab] \(file \d+ of device \d+\)/);
    await (await (await redlockOf({ verifyServer: false })).acquire("s")).release();
  });

  test("list() returns what is held, page by page", async () => {
    const node = await openNode(await temporaryFile());
    const listed = async (): Promise<Set<string>> => {
      const resources = new Set<string>();
      for await (const resource of node.list()) resources.add(resource);
      return resources;
    };
    expect(await listed()).toEqual(new Set());
    const names = Array.from({ length: 2_500 }, (_, index) => `r${index}`);
    const held = ["\u00e9\ud800", 'a"b\\', ...names].sort();
    await node.acquire(claimOf("alice", [...held, "zzz"]));
    await node.release({ resources: ["zzz"], owner: "alice", timeoutMs: 5_000 });
    await node.acquire(claimOf("alice", ["ended"], { ttlMs: 1 }));
    await expect.poll(async () => (await node.inspect("ended")).owner).toBeNull();
    expect(await listed()).toEqual(new Set(held));
  });

  test("sqliteNode() keeps its tables beside those of a program that uses the same file", async () => {
    const path = await temporaryFile();
    const database = new Database(path);
    database.exec("CREATE TABLE claims (id INTEGER); INSERT INTO claims VALUES (1)");
    const node = await openNode(path);
    expect(await node.acquire(claimOf("alice", ["r"]))).toEqual({ granted: true, fence: 1 });
    expect(database.prepare("SELECT count(*) AS rows FROM claims").get()).toMatchObject({ rows: 1 });
    database.close();
  });

  test("scan() ends after a last portion that is full", async () => {
    const node = await openNode(await temporaryFile());
    await node.acquire(claimOf("alice", Array.from({ length: 1_000 }, (_, index) => `r${index}`).sort()));
    const { counters, cursor = "" } = await node.scan({ timeoutMs: 5_000 });
    expect(counters).toBe(1_000);
    expect(await node.scan({ timeoutMs: 5_000, cursor })).toEqual({ counters: 0, highest: 0, claims: [] });
  });

  test("sqliteNode() follows symbolic links and changes of the directory", async () => {
    const path = await temporaryFile();
    const node = await openNode(path);
    await symlink(path, `${path}.link`);
    const linked = await openNode(relative(process.cwd(), `${path}.link`));
    const directory = vi.spyOn(process, "cwd").mockReturnValue("/");
    const heard = vi.fn();
    await linked.watch(["r"], heard);
    await linked.acquire(claimOf("alice", ["r"]));
    directory.mockRestore();
    expect(await node.acquire(claimOf("bob", ["r"]))).toMatchObject({ granted: false });
    await node.release(claimOf("alice", ["r"]));
    await vi.waitFor(() => expect(heard).toHaveBeenCalledWith("r", undefined), 10_000);
  });

  test("acquire() succeeds on the millisecond at which a claim ends", async () => {
    let nowMs = 1_000_000;
    const node = await openNode(await temporaryFile(), { nowMs: () => nowMs + 0.5 });
    await node.acquire(claimOf("alice", ["r"], { ttlMs: 100 }));
    nowMs += 99;
    const denial = { granted: false, retryAfterMs: 1, holder: "alice", heldResources: ["r"] };
    expect(await node.acquire(claimOf("bob", ["r"]))).toEqual(denial);
    nowMs += 1;
    expect(await node.acquire(claimOf("bob", ["r"]))).toEqual({ granted: true, fence: 2 });
  });

  test("acquire() accepts the longest ttl", async () => {
    const node = await openNode(await temporaryFile());
    await node.acquire(claimOf("alice", ["r"], { ttlMs: Number.MAX_SAFE_INTEGER }));
    expect(await node.inspect("r")).toMatchObject({ owner: "alice" });
  });

  test("acquire() forgets a waiter that has not retried for a while, even if the clock is then set back", async () => {
    let nowMs = 10_000_000;
    const node = await openNode(await temporaryFile(), { nowMs: () => nowMs });
    const wait = () => node.acquire(claimOf("bob", ["r"], { waiter: "B" }));
    await node.acquire(claimOf("alice", ["r"]));
    await wait();
    nowMs += 15_000;
    await wait();
    nowMs += 15_000;
    expect(await node.release(claimOf("alice", ["r"]))).toEqual({ released: true, next: "B" });

    await node.acquire(claimOf("alice", ["r"]));
    await wait();
    nowMs -= 60_000;
    await node.acquire(claimOf("carol", ["r"], { waiter: "C" }));
    expect(await node.release(claimOf("alice", ["r"]))).toEqual({ released: true, next: "C" });
    await node.acquire(claimOf("alice", ["r"]));
    await node.acquire(claimOf("carol", ["r"], { waiter: "C" }));
    nowMs += 20_000;
    expect(await node.release(claimOf("alice", ["r"]))).toEqual({ released: true });
  });

  test("release() keeps a bounded log", async () => {
    const path = await temporaryFile();
    const node = await openNode(path);
    for (let releases = 0; releases < 1_100; releases++) {
      await node.acquire(claimOf("alice", ["r"]));
      await node.release(claimOf("alice", ["r"]));
    }
    const database = new Database(path);
    expect(database.prepare("SELECT count(*) AS rows FROM holdfast_releases").get()).toMatchObject({ rows: 1_000 });
    database.close();
  });

  test("close() makes calls reject", async () => {
    const path = await temporaryFile();
    const node = await openNode(path);
    node.close();
    const request = claimOf("alice", ["r"]);
    const calls = [
      () => node.acquire(request),
      () => node.extend({ ...request, fence: 1, rejoin: false }),
      () => node.release(request),
      () => node.inspect("r"),
      () => node.watch(["r"], () => {}),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(`the lock file ${path} is closed`);
  });
});

describe("the housekeeping statement of the README", () => {
  test("it deletes rows that are unused for more than a day, and tokens still increase", async () => {
    const page = await readFile(new URL("../README.md", import.meta.url), "utf8");
    const [, statement = ""] = /```sql\n([\s\S]+?)```/.exec(page) ?? [];
    const path = await temporaryFile();
    let nowMs = Date.now() - 3 * dayMs;
    const node = await openNode(path, { nowMs: () => nowMs });
    await node.acquire(claimOf("alice", ["unused"], { ttlMs: 1_000, fenceHint: (nowMs + 7 * dayMs) * 1_000 }));
    const unused = await node.inspect("unused");
    await node.acquire(claimOf("alice", ["held"], { ttlMs: 4 * dayMs }));
    nowMs = Date.now();
    await node.acquire(claimOf("alice", ["released"]));
    await node.release(claimOf("alice", ["released"]));

    const database = new Database(path);
    database.exec(statement);
    database.close();
    expect(await node.inspect("unused")).toEqual({ owner: null, remainingMs: null, fence: 0 });
    expect(await node.inspect("held")).toMatchObject({ owner: "alice", fence: 1 });
    expect(await node.inspect("released")).toMatchObject({ fence: 1 });
    const again = await node.acquire(claimOf("bob", ["unused"], { fenceHint: nowMs * 1_000 }));
    expect(again).toMatchObject({ granted: true });
    expect((await node.inspect("unused")).fence).toBeGreaterThan(unused.fence);
  });
});

describe("the errors of sqliteNode()", () => {
  test("sqliteNode() names a missing folder", async () => {
    const path = join(await temporaryFile(), "nowhere.db");
    await expect(sqliteNode(path, { driver: "libsql" })).rejects.toMatchObject({
      code: "SQLITE_CANTOPEN",
      message: expect.stringContaining(`cannot use the lock file ${path}: its folder is missing`),
    });
  });

  test("sqliteNode() keeps the message of a driver that does not start", async () => {
    const path = await temporaryFile();
    const driver = () => {
      throw new Error("Could not locate the bindings file");
    };
    await expect(sqliteNode(path, { driver })).rejects.toThrow(
      `cannot open the lock file ${path} (Could not locate the bindings file)`,
    );
  });

  test("sqliteNode() rejects a file that is no database", async () => {
    const path = await temporaryFile();
    await writeFile(path, "this is no database, however long one looks at it; it is a text".repeat(100));
    await expect(sqliteNode(path)).rejects.toMatchObject({
      code: "SQLITE_NOTADB",
      message: expect.stringContaining("it is not a SQLite database"),
    });
  });

  test("sqliteNode() rejects a file that SQLite cannot keep a write-ahead log of", async () => {
    await expect(sqliteNode(await temporaryFile(), { driver: () => new Database(":memory:") })).rejects.toThrow(
      "SQLite cannot keep a write-ahead log",
    );
  });

  test("acquire(), raiseFloor() and scan() reject if the file was deleted or replaced", async () => {
    const path = await temporaryFile();
    const node = await openNode(path);
    const calls = [
      () => node.acquire(claimOf("alice", ["r"])),
      () => node.raiseFloor({ floor: 1, epoch: 1, timeoutMs: 5_000 }),
      () => node.scan({ timeoutMs: 5_000 }),
    ];
    await rename(path, `${path}.old`);
    for (const call of calls) await expect(call()).rejects.toThrow(`${path} was deleted or replaced`);
    await openNode(path);
    for (const call of calls) await expect(call()).rejects.toThrow(`${path} was deleted or replaced`);
    await rm(path);
    await rename(`${path}.old`, path);
    expect(await node.acquire(claimOf("alice", ["r"]))).toEqual({ granted: true, fence: 1 });
  });

  test("acquire() rejects on a full disk, claims nothing, and succeeds when there is room", async () => {
    const path = await temporaryFile();
    const database = new Database(path);
    const node = await openNode(path, { driver: () => database });
    database.exec("PRAGMA max_page_count = 1"); // as many pages as there are
    const many = Array.from({ length: 1_000 }, (_, index) => `resource-${index + 1_000}`);
    await expect(node.acquire(claimOf("alice", many))).rejects.toMatchObject({
      code: "SQLITE_FULL",
      message: expect.stringContaining("the disk is full"),
    });
    expect(await node.inspect("resource-1000")).toEqual({ owner: null, remainingMs: null, fence: 0 });
    database.exec("PRAGMA max_page_count = 1000000");
    expect(await node.acquire(claimOf("alice", many))).toEqual({ granted: true, fence: 1, uniform: true });
  });

  test("acquire() rejects on a read-only file, and inspect() does not", async () => {
    const path = await temporaryFile();
    const database = new Database(path);
    const node = await openNode(path, { driver: () => database });
    database.exec("PRAGMA query_only = ON");
    await expect(node.acquire(claimOf("alice", ["r"]))).rejects.toMatchObject({ code: "SQLITE_READONLY" });
    expect(await node.inspect("r")).toEqual({ owner: null, remainingMs: null, fence: 0 });
  });
});

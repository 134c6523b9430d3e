import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { sqliteNode } from "../src/sqlite-node.ts";
import { claimOf } from "./requests.ts";
import { openNode, temporaryFolder } from "./temporary.ts";

async function temporaryFile(): Promise<string> {
  return join(await temporaryFolder(), "locks.db");
}

describe("sqliteNode()", () => {
  test("sqliteNode() is named after its file by default", async () => {
    const path = await temporaryFile();
    expect((await openNode(path)).name).toBe(path);
    expect((await openNode(path, { name: "local" })).name).toBe("local");
  });

  test("sqliteNode() rejects if the folder is missing, or the file is no database", async () => {
    const path = await temporaryFile();
    await expect(sqliteNode(join(path, "nowhere.db"))).rejects.toThrow("Unable to open");
    await writeFile(path, "this is no database, however long one looks at it; it is a text".repeat(100));
    await expect(sqliteNode(path)).rejects.toThrow("not a database");
  });

  test("sqliteNode() keeps claims and fence counters when the file is closed and opened again", async () => {
    const path = await temporaryFile();
    const first = await sqliteNode(path);
    await first.acquire(claimOf("alice", ["r"], { fenceHint: 77 }));
    first.close();
    const second = await openNode(path);
    expect(await second.inspect("r")).toMatchObject({ owner: "alice", fence: 77 });
  });

  test("acquire() succeeds on the millisecond at which a claim ends", async () => {
    let nowMs = 1_000_000;
    const node = await openNode(await temporaryFile(), { nowMs: () => nowMs });
    await node.acquire(claimOf("alice", ["r"], { ttlMs: 100 }));
    nowMs += 99;
    expect(await node.acquire(claimOf("bob", ["r"]))).toEqual({ granted: false, retryAfterMs: 1 });
    nowMs += 1;
    expect(await node.acquire(claimOf("bob", ["r"]))).toEqual({ granted: true, fence: 2 });
  });

  test("acquire() fails beyond the safe integers, and changes nothing", async () => {
    const node = await openNode(await temporaryFile(), { nowMs: () => 8.64e15 });
    await node.acquire(claimOf("alice", ["r"], { fenceHint: Number.MAX_SAFE_INTEGER }));
    await node.release(claimOf("alice", ["r"]));
    await expect(node.acquire(claimOf("bob", ["a", "r"]))).rejects.toThrow("used up");
    expect(await node.inspect("r")).toEqual({ owner: null, remainingMs: null, fence: Number.MAX_SAFE_INTEGER });
    expect((await node.inspect("a")).fence).toBe(0);
  });

  test("acquire() distinguishes names that differ in half an emoji", async () => {
    const node = await openNode(await temporaryFile());
    await node.acquire(claimOf("alice", ["\ud83d"]));
    expect(await node.acquire(claimOf("bob", ["\ud83e"]))).toMatchObject({ granted: true });
  });

  test("close() makes calls reject, and ends watches", async () => {
    const path = await temporaryFile();
    const [node, rival] = [await openNode(path), await openNode(path)];
    const heard = vi.fn();
    await node.watch(["r"], heard);
    node.close();
    await expect(node.acquire(claimOf("alice", ["r"]))).rejects.toThrow("not open");
    const sentinel = vi.fn();
    await rival.watch(["r"], sentinel);
    await rival.acquire(claimOf("alice", ["r"]));
    await rival.release(claimOf("alice", ["r"]));
    await vi.waitFor(() => expect(sentinel).toHaveBeenCalledWith("r"), 10_000);
    expect(heard).not.toHaveBeenCalled();
  });
});

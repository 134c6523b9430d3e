import { readFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, test } from "vitest";
import { startChild } from "./child.ts";
import { claimOf } from "./requests.ts";
import { openNode, temporaryFolder } from "./temporary.ts";

const counterProgram = new URL("../src/main.ts", import.meta.url);
const stopInTheMiddle = new URL("./fixtures/stop-in-the-middle.ts", import.meta.url);
const timeoutMs = 120_000;
const free = { owner: null, remainingMs: null, fence: 0 };

describe("sqliteNode() in several processes", () => {
  test(
    "a counter that four processes share loses no increment, and its fences increase with it",
    async () => {
      const [workers, rounds] = [4, 25];
      const folder = await temporaryFolder();
      const outputs = Array.from({ length: workers }, async () => {
        const lines: string[] = [];
        for await (const line of startChild(counterProgram, folder, `${rounds}`).lines) lines.push(line);
        return lines;
      });
      const increments = (await Promise.all(outputs)).flat().map((line) => {
        const [, count, fence] = /^(\d+) under fence (\d+)$/.exec(line) ?? [];
        return { count: Number(count), fence: Number(fence) };
      });

      increments.sort((one, other) => one.count - other.count);
      expect(increments.map(({ count }) => count)).toEqual(increments.map((_, index) => index + 1));
      expect(await readFile(join(folder, "counter"), "utf8")).toBe(`${workers * rounds}`);
      const fences = increments.map(({ fence }) => fence);
      expect(fences).toEqual([...new Set(fences)].sort((one, other) => one - other));
    },
    timeoutMs,
  );

  test(
    "a process that stops during a call delays others only until their timeouts, and blocks no event loop",
    async () => {
      const { node, child } = await stoppedInTheMiddle();
      let turns = 0;
      const timer = setInterval(() => turns++, 1);
      await expect(node.acquire(claimOf("bob", ["a"], { timeoutMs: 50 }))).rejects.toMatchObject({
        code: "SQLITE_BUSY",
      });
      clearInterval(timer);
      expect(turns).toBeGreaterThan(0);
      expect(await node.inspect("kept")).toMatchObject({ owner: "alice", fence: 1 });
      await child.kill();
    },
    timeoutMs,
  );

  test(
    "a process that is killed during a call leaves nothing of the call behind, and keeps its earlier claims",
    async () => {
      const { path, node, child } = await stoppedInTheMiddle();
      await child.kill();
      for (const resource of ["a", "b", "c"]) expect(await node.inspect(resource)).toEqual(free);
      expect(await node.acquire(claimOf("bob", ["a", "b", "c"]))).toEqual({ granted: true, fence: 1 });
      expect(await node.acquire(claimOf("bob", ["kept"]))).toMatchObject({ granted: false });
      expect(await node.inspect("kept")).toMatchObject({ owner: "alice", fence: 1 });
      const database = new Database(path);
      expect(database.pragma("integrity_check")).toEqual([{ integrity_check: "ok" }]);
      database.close();
    },
    timeoutMs,
  );
});

async function stoppedInTheMiddle() {
  const path = join(await temporaryFolder(), "locks.db");
  const node = await openNode(path);
  const child = startChild(stopInTheMiddle, path, "alice");
  const { value: line } = await child.lines[Symbol.asyncIterator]().next();
  expect(line).toBe("in the middle");
  return { path, node, child };
}

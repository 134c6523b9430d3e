import { readFile } from "node:fs/promises";
import Database from "libsql";
import { describe, expect, test, vi } from "vitest";
import { startChild } from "./child.ts";
import { claimOf } from "./requests.ts";
import { fileOnDisk, openNode, temporaryFile } from "./temporary.ts";

const contender = new URL("./fixtures/contender.ts", import.meta.url);
const releaseOnDemand = new URL("./fixtures/release-on-demand.ts", import.meta.url);
const stopInTheMiddle = new URL("./fixtures/stop-in-the-middle.ts", import.meta.url);
const timeoutMs = 120_000;
const free = { owner: null, remainingMs: null, fence: 0 };

describe("sqliteNode() in several processes", () => {
  test(
    "contending processes, some of them killed, exclude each other, and their fences increase",
    async () => {
      const path = await temporaryFile();
      const log = `${path}.log`;
      const survivors = await Promise.all([1, 2, 3].map(() => startChild(contender, path, log, "40")));
      const killed = new Set<number>();
      for (let victims = 0; victims < 2; victims++) {
        const victim = await startChild(contender, path, log, "1000000");
        await vi.waitFor(async () => expect(await readFile(log, "utf8")).toContain(` ${victim.pid}\n`), timeoutMs);
        await victim.kill();
        killed.add(victim.pid);
      }
      for (const { ended } of survivors) expect(await ended).toBe(0);

      let lastFence = 0;
      let inside: number | undefined;
      for (const line of (await readFile(log, "utf8")).trim().split("\n")) {
        const [, step, fence, pid] = /^(enter|leave) (\d+) (\d+)$/.exec(line) ?? [];
        if (step === "leave") {
          expect({ pid: Number(pid), fence: Number(fence) }).toEqual({ pid: inside, fence: lastFence });
          inside = undefined;
          continue;
        }
        if (inside !== undefined) expect(killed).toContain(inside);
        expect(Number(fence)).toBeGreaterThan(lastFence);
        lastFence = Number(fence);
        inside = Number(pid);
      }
    },
    timeoutMs,
  );

  test(
    "watch() reports each release by another process, even if nothing changes afterwards",
    async () => {
      const path = await fileOnDisk(); // the write and the commit of a release are far apart only on a disk
      const node = await openNode(path);
      const child = await startChild(releaseOnDemand, path, "r");
      await child.lines[Symbol.asyncIterator]().next();
      const onReleased = vi.fn();
      await node.watch(["r"], onReleased);
      for (let releases = 1; releases <= 50; releases++) {
        child.input.write(`owner-${releases}\n`);
        await vi.waitFor(() => expect(onReleased).toHaveBeenCalledTimes(releases), { timeout: 10_000, interval: 1 });
      }
    },
    timeoutMs,
  );

  test(
    "a process that stops during a call delays others only until their timeouts, and blocks no event loop",
    async () => {
      const { path, node, child } = await stoppedInTheMiddle();
      let turns = 0;
      const timer = setInterval(() => turns++, 1);
      await expect(node.acquire(claimOf("bob", ["a"], { timeoutMs: 50 }))).rejects.toMatchObject({
        code: "SQLITE_BUSY",
        message: expect.stringContaining(`cannot use the lock file ${path}: another process is writing to it`),
      });
      clearInterval(timer);
      expect(turns).toBeGreaterThan(0);
      expect(await node.inspect("kept")).toMatchObject({ owner: "alice", fence: 1 });
      await child.kill();
    },
    timeoutMs,
  );

  test(
    "sqliteNode() opens a file while a stopped process is writing to it",
    async () => {
      const { path, child } = await stoppedInTheMiddle();
      expect(await (await openNode(path)).inspect("kept")).toMatchObject({ owner: "alice" });
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
      expect(await node.acquire(claimOf("bob", ["kept"]))).toMatchObject({ granted: false, holder: "alice" });
      expect(await node.inspect("kept")).toMatchObject({ owner: "alice", fence: 1 });
      const database = new Database(path);
      expect(database.pragma("integrity_check")).toEqual([{ integrity_check: "ok" }]);
      database.close();
    },
    timeoutMs,
  );
});

async function stoppedInTheMiddle() {
  const path = await temporaryFile();
  const node = await openNode(path);
  const child = await startChild(stopInTheMiddle, path, "alice");
  const { value: line } = await child.lines[Symbol.asyncIterator]().next();
  expect(line).toBe("in the middle");
  return { path, node, child };
}

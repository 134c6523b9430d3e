import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import Database from "libsql";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { claimOf } from "./requests.ts";
import { fileOnDisk, openNode, temporaryFile } from "./temporary.ts";

const releaseOnDemand = new URL("./fixtures/release-on-demand.ts", import.meta.url);
const stopInTheMiddle = new URL("./fixtures/stop-in-the-middle.ts", import.meta.url);
const timeoutMs = 120_000;
const free = { owner: null, remainingMs: null, fence: 0 };

describe("sqliteNode() in several processes", () => {
  test(
    "watch() reports each release by another process, even if nothing changes afterwards",
    async () => {
      const path = await fileOnDisk(); // the write and the commit of a release are far apart only on a disk
      const node = await openNode(path);
      const child = await startChild(releaseOnDemand, path, "r");
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
      expect(await node.acquire(claimOf("bob", ["a", "b", "c"]))).toEqual({ granted: true, fence: 1, uniform: true });
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
  expect(child.line).toBe("in the middle");
  return { path, node, child };
}

/** Starts a program in a process that is killed at the end of the test, and waits for the first line of its output. */
async function startChild(program: URL, ...args: readonly string[]) {
  const bundle = await bundleProgram(program);
  const child = spawn(process.execPath, [bundle, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  const [line] = await once(createInterface(child.stdout), "line");
  return { input: child.stdin, line, kill };
}

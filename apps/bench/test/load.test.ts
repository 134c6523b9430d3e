import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { treeCpuUs, watchOthers } from "../src/load.ts";

const run = promisify(execFile);
const loop = "while :; do :; done";

test.skipIf(!existsSync("/proc/stat"))("watchOthers() counts processes that this one did not start", async () => {
  const othersShare = watchOthers();
  // An orphan, because its parent ends at once.
  const { stdout } = await run("sh", ["-c", `(${loop}) >/dev/null 2>&1 & echo $!`]);
  onTestFinished(() => void process.kill(Number(stdout), "SIGKILL"));
  await expect.poll(othersShare, { timeout: 20_000 }).toBeGreaterThan(0.05);
});

test.skipIf(!existsSync("/proc/stat"))("treeCpuUs() counts a process and its descendants", async () => {
  const group = spawn("sh", ["-c", `sh -c '${loop}' & wait`], { detached: true, stdio: "ignore" }).pid as number;
  onTestFinished(() => void process.kill(-group, "SIGKILL"));
  await expect.poll(() => treeCpuUs(group), { timeout: 20_000 }).toBeGreaterThan(50_000);
});

test("treeCpuUs() is NaN if there is no such process", () => {
  expect(treeCpuUs(2 ** 30)).toBeNaN();
});

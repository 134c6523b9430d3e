import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { watchOthers } from "../src/load.ts";

const run = promisify(execFile);
const loop = "while :; do :; done";

test.skipIf(!existsSync("/proc/stat"))("watchOthers() counts processes that this one did not start", async () => {
  const othersShare = watchOthers();
  // An orphan, because its parent ends at once.
  const { stdout } = await run("sh", ["-c", `(${loop}) >/dev/null 2>&1 & echo $!`]);
  onTestFinished(() => void process.kill(Number(stdout), "SIGKILL"));
  await expect.poll(othersShare, { timeout: 20_000 }).toBeGreaterThan(0.05);
});

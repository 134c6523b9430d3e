import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/*
 * Test processes end in many ways, and some of them (a test runner that kills its worker) leave no time to clean up. So
 * a small process waits for this one to end, by whatever cause, which it notices by the end of its input.
 */
const reap = 'cat >/dev/null; for file in "$0"/*/pid; do kill -9 "$(cat "$file")"; done 2>/dev/null; rm -rf "$0"';

let root: Promise<string> | undefined;

/**
 * Makes a directory that is removed when this process ends, at the latest. A process whose id stands in a file `pid` in
 * it is then killed.
 */
export async function reapedDirectory(): Promise<string> {
  root ??= startReaper();
  return mkdtemp(join(await root, "server-"));
}

async function startReaper(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-redis-"));
  // In a session of its own, so that it outlives a Ctrl-C in the terminal.
  const reaper = spawn("sh", ["-c", reap, directory], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  reaper.unref();
  (reaper.stdin as Socket).unref();
  return directory;
}

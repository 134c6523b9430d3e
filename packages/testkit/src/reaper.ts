import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/*
 * Some test processes are killed, and cannot clean up. So a small helper process reads from a pipe, whose end tells it that
 * this process has ended, for whatever reason.
 */
const reap = 'cat >/dev/null; for file in "$0"/*/pid; do kill -9 "$(cat "$file")"; done 2>/dev/null; rm -rf "$0"';

let root: Promise<string> | undefined;

/**
 * Creates a directory that is removed at the latest when this process ends. If the directory then contains a file `pid`,
 * the process with that id is killed.
 */
export async function reapedDirectory(): Promise<string> {
  root ??= startReaper();
  return mkdtemp(join(await root, "server-"));
}

async function startReaper(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-redis-"));
  // In a separate session, so that it survives Ctrl-C in the terminal.
  const reaper = spawn("sh", ["-c", reap, directory], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  reaper.unref();
  (reaper.stdin as Socket).unref();
  return directory;
}

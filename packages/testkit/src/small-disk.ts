import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "./reaper.ts";
import { removeDirectory } from "./remove-directory.ts";
import { serverUser } from "./server-user.ts";

/** A disk of a few megabytes that a test can fill. */
export interface SmallDisk {
  /** The path of the disk's root directory, which servers may write to. */
  readonly path: string;
  /** Uses up all space that is left. */
  fill(): Promise<void>;
  /** Gives that space back. */
  clear(): Promise<void>;
  /** Removes the disk and all its files, once no process uses them. */
  unmount(): Promise<void>;
}

/**
 * Mounts a disk in memory. The disk belongs to a process of its own, and disappears with it, so that nothing stays
 * mounted when this process is killed. Users other than root need the right to create namespaces.
 */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const directory = await reapedDirectory();
  const user = await serverUser();
  // The process of the disk runs as the user of the servers, who can therefore pass through its `/proc` directory.
  const idle = 'sh -c "echo mounted; exec cat"';
  const asUser = user ? `setpriv --reuid ${user.uid} --regid ${user.gid} --clear-groups ${idle}` : idle;
  const script = `mount -t tmpfs -o size=${megabytes}m,mode=0777 none ${directory} && exec ${asUser}`;
  const namespaces = ["--mount", "--propagation=private", ...(user ? [] : ["--map-root-user"])];
  const holder = spawn("unshare", [...namespaces, "sh", "-c", script], { stdio: "pipe" });
  const ended = once(holder, "close").catch(() => {});
  let problem = "";
  holder.stderr.on("data", (text) => {
    problem += text;
  });
  const [first] = await Promise.race([once(holder.stdout, "data"), ended.then(() => [])]);
  if (String(first) !== "mounted\n") {
    await removeDirectory(directory);
    throw new Error(`could not mount a small disk: ${problem || "unshare is missing"}`);
  }
  const path = `/proc/${holder.pid}/root${directory}`;
  const filler = join(path, "filler");
  return {
    path,
    fill: () => fill(filler),
    clear: () => rm(filler, { force: true }),
    async unmount() {
      holder.stdin.end();
      await ended;
      await removeDirectory(directory);
    },
  };
}

async function fill(path: string): Promise<void> {
  const file = await open(path, "a");
  try {
    for (const bytes of [1 << 20, 1 << 12]) {
      const zeros = Buffer.alloc(bytes);
      while (await isWritten(file.write(zeros))) {}
    }
  } finally {
    await file.close();
  }
}

async function isWritten(write: Promise<{ readonly bytesWritten: number }>): Promise<boolean> {
  try {
    return (await write).bytesWritten > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}

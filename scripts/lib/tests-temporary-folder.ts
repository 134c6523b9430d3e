import { existsSync, statfsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A disk in memory with room for the files of some servers, if there is one: containers often have little. */
export const memoryDisk: string | undefined = existsSync("/dev/shm") && hasRoom("/dev/shm") ? "/dev/shm" : undefined;

function hasRoom(disk: string): boolean {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize > 2 ** 30;
}

/**
 * A global set-up of vitest: gives all processes of a run a temporary folder of its own, which goes with the run. Examples,
 * and tests that are killed, leave files there. It is in memory, as many tests have servers that sync each change to the disk,
 * which takes milliseconds on a real one; but not nightly.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const { TMPDIR } = process.env;
  const parent = process.env.HOLDFAST_NIGHTLY === "1" ? undefined : memoryDisk;
  const folder = await mkdtemp(join(parent ?? tmpdir(), "tests-")); // short: sockets have paths of at most 107 characters
  await chmod(folder, 0o711); // servers that run as another user have their folders in it
  process.env.TMPDIR = folder;
  process.env.HOLDFAST_TESTS_FOLDER = folder; // tells the test kit that this is the folder of a run
  return async () => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    // Processes that are ending may still write.
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  };
}

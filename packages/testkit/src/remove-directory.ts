import { lstatSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Removes the directory of a server, if it exists.
 *
 * `fs.realpathSync` of Node.js 20 takes each known directory for a socket while the latest file that was looked at is
 * one, and returns the path as it is. Modules that are then loaded find the wrong versions of those that they import.
 */
export async function removeDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  lstatSync(dirname(directory));
}

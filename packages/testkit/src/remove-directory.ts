import { lstatSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";

/**
 * Removes the directory of a server, if it exists.
 *
 * While the last file that Node.js 20 has examined is a socket, `fs.realpathSync` takes each directory that it knows for
 * one, and returns paths as they are. Modules that are loaded then find the wrong versions of those that they import.
 */
export async function removeDirectory(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } finally {
    lstatSync(tmpdir());
  }
}

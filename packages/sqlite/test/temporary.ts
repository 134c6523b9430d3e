import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type SqliteNode, type SqliteNodeOptions, sqliteNode } from "../src/index.ts";

/** Creates a folder that is removed at the end of the test. */
async function temporaryFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "locks-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Returns the path of a file in a folder that is removed at the end of the test. */
export async function temporaryFile(): Promise<string> {
  return join(await temporaryFolder(tmpdir()), "locks.db");
}

/** Like {@link temporaryFile}, on the disk of this checkout, even if temporary files are in memory. */
export async function fileOnDisk(): Promise<string> {
  return join(await temporaryFolder(fileURLToPath(new URL("../reports", import.meta.url))), "locks.db");
}

/**
 * Opens a node that is closed at the end of the test. All connections of one process to a file must use the same copy
 * of SQLite, and tests open some with libsql.
 */
export async function openNode(path: string, options: SqliteNodeOptions = {}): Promise<SqliteNode> {
  const node = await sqliteNode(path, { driver: "libsql", ...options });
  onTestFinished(() => node.close());
  return node;
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type SqliteNode, type SqliteNodeOptions, sqliteNode } from "../src/sqlite-node.ts";

/** Makes a folder that is removed at the end of the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "locks-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Opens a node that is closed at the end of the test. */
export async function openNode(path: string, options?: SqliteNodeOptions): Promise<SqliteNode> {
  const node = await sqliteNode(path, options);
  onTestFinished(() => node.close());
  return node;
}

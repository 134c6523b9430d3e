/** SQLite files as servers. They take less time than Redis where every fence counter is read. */
import { join } from "node:path";
import { type SqliteNode, sqliteNode } from "@holdfast/sqlite";
import { reapedDirectory } from "@holdfast/testkit";

const scheme = "sqlite:";

/** Returns the addresses of new SQLite files. */
export async function newFiles(count: number): Promise<readonly string[]> {
  const folder = await reapedDirectory();
  return Array.from({ length: count }, (_, index) => `${scheme}${join(folder, `${index}.db`)}`);
}

/** Returns the name of the server with this address. */
export function nameOf(address: string): string {
  return address.replace(scheme, "");
}

/** Calls the node of a SQLite file. */
export async function withNode(address: string, use: (node: SqliteNode) => Promise<unknown>): Promise<void> {
  const node = await sqliteNode(nameOf(address));
  await use(node);
  node.close();
}

/** Sets the fence counter of a resource, as a lock of a client with a clock ahead would. */
export async function setCounter(address: string, resource: string, fence: number): Promise<void> {
  const request = { resources: [resource], owner: "ahead", timeoutMs: 10_000 };
  await withNode(address, async (node) => {
    await node.acquire({ ...request, ttlMs: 60_000, fenceHint: fence });
    await node.release(request);
  });
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LockNodeLimits, LockNodeSubject } from "@holdfast/conformance";
import { bundleRival } from "@holdfast/testkit/bundle-rival";
import { type SqliteDriverName, sqliteNode } from "../src/index.ts";

/** Why a subject has no server. */
export const noServer = "it is a file, which cannot be unreachable";

/** What the adapter does not do. */
export const limits: LockNodeLimits = { sharing: "a resource has one row, with one owner" };

/** The drivers that run here without being compiled. */
export const drivers: readonly SqliteDriverName[] =
  process.getBuiltinModule("node:sqlite") === undefined ? ["libsql"] : ["libsql", "node:sqlite"];

/** Returns a function that creates subjects over a driver. */
export function subjectsOver(driver: SqliteDriverName): () => Promise<LockNodeSubject> {
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), "locks-"));
    const path = join(folder, "locks.db");
    const [node, rival] = [await sqliteNode(path, { driver }), await sqliteNode(path, { driver })];
    return {
      node,
      rival,
      rivalModule: {
        ...(await bundleRival(new URL("./fixtures/rival.ts", import.meta.url))),
        options: { path, driver },
      },
      close: async () => {
        node.close();
        rival.close();
        await rm(folder, { recursive: true });
      },
    };
  };
}

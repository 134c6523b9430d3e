// test/subject.ts
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LockNodeSubject } from "@holdfast/conformance";
import { sqliteNode } from "../src/sqlite-node.ts";

export async function createSubject(): Promise<LockNodeSubject> {
  const folder = await mkdtemp(join(tmpdir(), "locks-"));
  const path = join(folder, "locks.db");
  const [node, rival] = [await sqliteNode(path), await sqliteNode(path)];
  return {
    node,
    rival,
    rivalModule: {
      url: new URL("./rival.ts", import.meta.url),
      options: { path },
      execArgv: ["--import", "tsx"], // it is written in TypeScript
    },
    close: async () => {
      node.close();
      rival.close();
      await rm(folder, { recursive: true });
    },
  };
}

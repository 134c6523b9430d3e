// test/rival.ts
import type { OpenNode } from "@holdfast/conformance";
import { sqliteNode } from "../src/sqlite-node.ts";

export const openNode: OpenNode<{ path: string }> = async ({ path }) => {
  const node = await sqliteNode(path);
  return { node, close: async () => node.close() };
};

import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { brokenNodes } from "./broken/index.ts";
import { bareNode, completeNode, limitedNode, rightNodes } from "./right-nodes.ts";
import { childTimeoutMs, type Result, runVitest } from "./vitest-child.ts";

/** Puts the results of each node together. */
function byNode(results: readonly Result[]): Map<string, readonly Result[]> {
  const nodes = new Map<string, Result[]>();
  for (const result of results) {
    const [node = ""] = result.ancestorTitles;
    const ofNode = nodes.get(node) ?? [];
    nodes.set(node, ofNode);
    ofNode.push(result);
  }
  return nodes;
}

describe("describeLockNode()", () => {
  let nodes: Map<string, readonly Result[]>;
  const titles = (node: string, status: Result["status"]): string[] =>
    (nodes.get(node) ?? []).filter((result) => result.status === status).map(({ title }) => title);

  beforeAll(async () => {
    const folder = fileURLToPath(new URL("./broken", import.meta.url));
    nodes = byNode(await runVitest(folder));
  }, childTimeoutMs);

  for (const { name } of rightNodes) {
    test(`passes ${name}`, () => {
      expect(titles(name, "passed").length).toBeGreaterThan(80);
      expect(titles(name, "failed")).toEqual([]);
    });
  }

  test("skips nothing of a node that has no limit declared", () => {
    for (const { name } of [completeNode, bareNode]) expect(titles(name, "skipped")).toEqual([]);
  });

  test("states what a node does not offer", () => {
    const statements = titles(bareNode.name, "passed").filter((title) => title.startsWith("the node does not offer"));
    expect(statements).toHaveLength(2);
  });

  test("lists what a node cannot do as skipped, with the reason that was declared", () => {
    const skipped = titles(limitedNode.name, "skipped");
    for (const reason of Object.values(limitedNode.cannot ?? {})) {
      expect(
        skipped.filter((title) => title.endsWith(`(not here: ${reason})`)),
        reason,
      ).not.toEqual([]);
    }
    expect(skipped.filter((title) => !title.includes("(not here: "))).toEqual([]);
  });

  for (const { mistake, caughtBy } of brokenNodes) {
    test(`fails a node that ${mistake}`, () => {
      expect(titles(mistake, "failed")).toEqual([caughtBy]);
    });
  }
});

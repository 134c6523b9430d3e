import { expect, test } from "vitest";
import { brokenNodes, describeBrokenNodes } from "../src/index.ts";
import { brokenNodeTable } from "./broken-node-table.ts";
import { bareNode } from "./correct-nodes.ts";
import { noOtherProcess, remoteSubject, servedSubject } from "./subjects.ts";

describeBrokenNodes("a correct node", { create: () => remoteSubject(), noOtherProcess });
describeBrokenNodes("a correct node behind a server", {
  create: servedSubject,
  brokenNodes: brokenNodes.filter(({ needs = [] }) => needs.includes("otherProcess") || needs.includes("server")),
});
// This node cannot be broken in most of these ways: the suite reports that instead of passing over it.
describeBrokenNodes("a correct node without optional methods", {
  create: () => remoteSubject(bareNode.makeFrom),
  noOtherProcess,
  brokenNodes: brokenNodes.filter(({ needs = [] }) => needs.length > 0),
});

test("broken nodes are listed in BROKEN-NODES.md, each with the test that catches it (vitest -u writes the page)", async () => {
  await expect(brokenNodeTable(brokenNodes)).toMatchFileSnapshot("../BROKEN-NODES.md");
});

import { expect, test } from "vitest";
import { describeSuiteBites, mistakes } from "../src/index.ts";
import { mistakeTable } from "./mistake-table.ts";
import { bareNode } from "./right-nodes.ts";
import { remoteSubject } from "./subjects.ts";

describeSuiteBites("a correct node", { create: () => remoteSubject() });
// Most of these cannot be made in it, which is said and not passed over.
describeSuiteBites("a correct node without optional methods", {
  create: () => remoteSubject(bareNode.makeFrom),
  mistakes: mistakes.filter(({ needs = [] }) => needs.length > 0),
});

test("mistakes are listed in MISTAKES.md, each with the test that catches it (vitest -u writes the page)", async () => {
  await expect(mistakeTable(mistakes)).toMatchFileSnapshot("../MISTAKES.md");
});

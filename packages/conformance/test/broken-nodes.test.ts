import { isNightly } from "@holdfast/testkit";
import { brokenNodes, describeBrokenNodes } from "../src/index.ts";
import { bareNode } from "./correct-nodes.ts";
import { noOtherProcess, remoteSubject } from "./subjects.ts";

describeBrokenNodes("a correct node", { create: () => remoteSubject(), noOtherProcess });
for (const counters of isNightly ? [1, 3] : []) {
  const name = `a correct node with counters: ${counters}`;
  describeBrokenNodes(name, { create: () => remoteSubject(undefined, counters), noOtherProcess });
}
// The nightly tests of SQLite, etcd and ioredis run those that show only in another process.
// Most of these faults do not apply to this node. The suite must report that instead of skipping them silently.
describeBrokenNodes("a correct node without optional methods", {
  create: () => remoteSubject(bareNode.makeFrom),
  noOtherProcess,
  brokenNodes: brokenNodes.filter(({ needs = [] }) => needs.length > 0),
});

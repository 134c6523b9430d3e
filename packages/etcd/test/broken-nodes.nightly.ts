import { brokenNodes, describeBrokenNodes } from "@holdfast/conformance";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll } from "vitest";
import { limits, subjectsOver } from "./subjects.ts";

const server = await startEtcdServer();
afterAll(() => server.stop());

/** The faults whose watches take a connection each: all watches of this node share one with its calls. */
const aboutConnections = /leave no connection open$/;

describeBrokenNodes("etcdNode()", {
  create: subjectsOver([server.port]),
  cannot: limits,
  brokenNodes: brokenNodes.filter(
    ({ needs, caughtBy }) =>
      (needs?.includes("otherProcess") || needs?.includes("server")) && !aboutConnections.test(caughtBy),
  ),
});

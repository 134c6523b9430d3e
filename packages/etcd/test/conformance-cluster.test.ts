import { describeLockNode, essentialTests } from "@holdfast/conformance";
import { isNightly } from "@holdfast/testkit";
import { startEtcdCluster } from "@holdfast/testkit/etcd-server";
import { afterAll } from "vitest";
import { limits, subjectsOver } from "./subjects.ts";

const cluster = await startEtcdCluster(3);
afterAll(() => cluster.stop());

describeLockNode("etcdNode() over a cluster of three", {
  ...(isNightly ? {} : { only: essentialTests }),
  create: subjectsOver(cluster.servers.map(({ port }) => port)),
  cannot: limits,
});

import { describeLockNode } from "@holdfast/conformance";
import { startEtcdCluster } from "@holdfast/testkit/etcd-server";
import { afterAll } from "vitest";
import { limits, subjectsOver } from "./subjects.ts";

const cluster = await startEtcdCluster(3);
afterAll(() => cluster.stop());

describeLockNode("etcdNode() over a cluster of three", {
  create: subjectsOver(cluster.servers.map(({ port }) => port)),
  cannot: limits,
});

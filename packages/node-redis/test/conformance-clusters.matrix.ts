import { describeLockNode } from "@holdfast/conformance";
import { clusterLimits, clusterSubjectsOver, noClusterServer, noOtherVersion } from "@holdfast/redis-testkit/subjects";
import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { overCluster5 } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());
const ports = cluster.servers.map(({ port }) => port);

describeLockNode("nodeRedisNode() over a cluster of @redis/client 5", {
  create: clusterSubjectsOver(ports, overCluster5),
  cannot: clusterLimits,
  noServer: noClusterServer,
  noOtherProcess: noOtherVersion,
});

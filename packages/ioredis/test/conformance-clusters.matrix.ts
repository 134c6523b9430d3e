import { describeLockNode } from "@holdfast/conformance";
import { clusterLimits, clusterSubjectsOver, noClusterServer, noOtherVersion } from "@holdfast/redis-testkit/subjects";
import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { overCluster5, overValkeyCluster } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());
const ports = cluster.servers.map(({ port }) => port);

describeLockNode("ioredisNode() over a Cluster of ioredis 5", {
  create: clusterSubjectsOver(ports, overCluster5),
  cannot: clusterLimits,
  noServer: noClusterServer,
  noOtherProcess: noOtherVersion,
});
describeLockNode("ioredisNode() over a Cluster of iovalkey", {
  create: clusterSubjectsOver(ports, overValkeyCluster),
  cannot: clusterLimits,
  noServer: noClusterServer,
  noOtherProcess: noOtherVersion,
});

import { describeLockNode } from "@holdfast/conformance";
import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { clusterLimits, clusterSubjectsOver, noClusterServer } from "../../redis/test/subjects.ts";
import { overCluster5 } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());
const ports = cluster.servers.map(({ port }) => port);

describeLockNode("nodeRedisNode() over a cluster of @redis/client 5", {
  create: clusterSubjectsOver((options) => overCluster5(ports, options)),
  cannot: clusterLimits,
  noServer: noClusterServer,
});

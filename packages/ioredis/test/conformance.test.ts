import { describeLockNode } from "@holdfast/conformance";
import { startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import {
  clusterLimits,
  clusterSubjectsOver,
  directSubjectsOver,
  noClusterServer,
  noOtherProtocol,
  subjectsOver,
} from "../../redis/test/subjects.ts";
import { over6, overCluster6 } from "./clients.ts";

const server = await startRedisServer();
const cluster = await startRedisCluster(3);
afterAll(() => Promise.all([server.stop(), cluster.stop()]));
const ports = cluster.servers.map((each) => each.port);

describeLockNode("ioredisNode() over ioredis 6, RESP3", {
  create: subjectsOver(server.port, (port, options) => over6({ port, protocol: 3 }, options)),
});
describeLockNode("ioredisNode() over ioredis 6, RESP2, numbers as strings, automatic pipelines", {
  create: directSubjectsOver((options) =>
    over6({ port: server.port, protocol: 2, stringNumbers: true, enableAutoPipelining: true }, options),
  ),
  noServer: noOtherProtocol,
});
describeLockNode("ioredisNode() over a Cluster of ioredis 6", {
  create: clusterSubjectsOver((options) => overCluster6(ports, options)),
  cannot: clusterLimits,
  noServer: noClusterServer,
});

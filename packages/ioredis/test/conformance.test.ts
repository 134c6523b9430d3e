import { describeLockNode } from "@holdfast/conformance";
import {
  clusterLimits,
  clusterSubjectsOver,
  directSubjectsOver,
  essentials,
  noClusterServer,
  noOtherProtocol,
  subjectsOver,
} from "@holdfast/redis-testkit/subjects";
import { repetition, startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over6, overCluster6 } from "./clients.ts";

const server = await startRedisServer();
const cluster = await startRedisCluster(3);
afterAll(() => Promise.all([server.stop(), cluster.stop()]));
const ports = cluster.servers.map((each) => each.port);

describeLockNode("ioredisNode() over ioredis 6, RESP3", {
  repetition,
  create: subjectsOver(server.port, (port) => over6({ port, protocol: 3 }), {
    url: new URL("./fixtures/rival.ts", import.meta.url),
    client: "over6",
  }),
});
describeLockNode("ioredisNode() over ioredis 6, RESP2, numbers as strings, automatic pipelines", {
  ...essentials,
  create: directSubjectsOver(server, () =>
    over6({ port: server.port, protocol: 2, stringNumbers: true, enableAutoPipelining: true }),
  ),
  noServer: noOtherProtocol,
  noOtherProcess: noOtherProtocol,
});
describeLockNode("ioredisNode() over a Cluster of ioredis 6", {
  repetition,
  create: clusterSubjectsOver(ports, overCluster6, {
    url: new URL("./fixtures/rival.ts", import.meta.url),
    client: "overCluster6",
  }),
  cannot: clusterLimits,
  noServer: noClusterServer,
});

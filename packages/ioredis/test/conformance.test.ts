import { describeLockNode } from "@holdfast/conformance";
import { directly, essentials, onCluster, subjectsOver } from "@holdfast/redis-testkit/subjects";
import { repetition, startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over6, overCluster6, rival } from "./clients.ts";

const server = await startRedisServer();
const cluster = await startRedisCluster(3);
afterAll(() => Promise.all([server.stop(), cluster.stop()]));
const ports = cluster.servers.map((each) => each.port);

describeLockNode("ioredisNode() over ioredis 6, RESP3", {
  repetition,
  create: subjectsOver(server.port, (port) => over6({ port, protocol: 3 }), rival("over6")),
});
describeLockNode("ioredisNode() over ioredis 6, RESP2, numbers as strings, automatic pipelines", {
  ...essentials,
  ...directly(server, () => over6({ port: server.port, protocol: 2, stringNumbers: true, enableAutoPipelining: true })),
});
describeLockNode("ioredisNode() over a Cluster of ioredis 6", {
  repetition,
  ...onCluster(ports, overCluster6, rival("overCluster6")),
});

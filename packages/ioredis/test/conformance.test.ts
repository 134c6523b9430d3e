import { describeLockNode } from "@holdfast/conformance";
import { startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { subjectsOver } from "../../redis/test/subjects.ts";
import { over6, overCluster6 } from "./clients.ts";

const server = await startRedisServer();
const cluster = await startRedisCluster(2);
afterAll(() => Promise.all([server.stop(), cluster.stop()]));
const { port } = server;
const ports = cluster.servers.map((each) => each.port);

describeLockNode("ioredisNode() over ioredis 6, RESP3", {
  create: subjectsOver((options) => over6({ port, protocol: 3 }, options)),
});
describeLockNode("ioredisNode() over ioredis 6, RESP2, numbers as strings, automatic pipelines", {
  create: subjectsOver((options) =>
    over6({ port, protocol: 2, stringNumbers: true, enableAutoPipelining: true }, options),
  ),
});
describeLockNode("ioredisNode() over a Cluster of ioredis 6", {
  create: subjectsOver(
    (options) => overCluster6(ports, options),
    (number) => `{${number}}:`,
  ),
});

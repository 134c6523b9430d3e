import { describeLockNode } from "@holdfast/conformance";
import { startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { subjectsOver } from "../../redis/test/subjects.ts";
import { over, overCluster } from "./clients.ts";

const server = await startRedisServer();
const cluster = await startRedisCluster(2);
afterAll(() => Promise.all([server.stop(), cluster.stop()]));
const { port } = server;
const ports = cluster.servers.map((each) => each.port);

describeLockNode("valkeyGlideNode() over a GlideClient, RESP3", {
  create: subjectsOver((options) => over(port, options)),
});
describeLockNode("valkeyGlideNode() over a GlideClusterClient", {
  create: subjectsOver(
    (options) => overCluster(ports, options),
    (number) => `{${number}}:`,
  ),
});

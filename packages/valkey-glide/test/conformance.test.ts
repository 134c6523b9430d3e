import { describeLockNode } from "@holdfast/conformance";
import { essentials, onCluster, subjectsOver } from "@holdfast/redis-testkit/subjects";
import { repetition, startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over, overCluster } from "./clients.ts";

const server = await startRedisServer();
const cluster = await startRedisCluster(2);
afterAll(() => Promise.all([server.stop(), cluster.stop()]));
const ports = cluster.servers.map((each) => each.port);
const rival = (client: string) => ({ url: new URL("./fixtures/rival.ts", import.meta.url), client });

describeLockNode("valkeyGlideNode() over a GlideClient, RESP3", {
  repetition,
  create: subjectsOver(server.port, over, rival("over")),
});
describeLockNode("valkeyGlideNode() over a GlideClusterClient", {
  ...essentials,
  ...onCluster(ports, overCluster, rival("overCluster")),
});

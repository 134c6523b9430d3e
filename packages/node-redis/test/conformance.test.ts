import { describeLockNode } from "@holdfast/conformance";
import { directly, essentials, onCluster, subjectsOver } from "@holdfast/redis-testkit/subjects";
import { repetition, startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { RESP_TYPES } from "@redis/client";
import { afterAll } from "vitest";
import { over6, overCluster6, rival } from "./clients.ts";

const server = await startRedisServer();
const cluster = await startRedisCluster(3);
afterAll(() => Promise.all([server.stop(), cluster.stop()]));
const ports = cluster.servers.map((each) => each.port);
const typeMapping = { [RESP_TYPES.NUMBER]: String, [RESP_TYPES.BLOB_STRING]: Buffer };

describeLockNode("nodeRedisNode() over @redis/client 6, RESP3", {
  repetition,
  create: subjectsOver(server.port, (port) => over6(port, undefined, { RESP: 3 }), rival("over6")),
});
describeLockNode("nodeRedisNode() over @redis/client 6, RESP2, a type mapping", {
  ...essentials,
  ...directly(server, () => over6(server.port, undefined, { RESP: 2, commandOptions: { typeMapping } })),
});
describeLockNode("nodeRedisNode() over a cluster of @redis/client 6", {
  ...essentials,
  ...onCluster(ports, overCluster6, rival("overCluster6")),
});

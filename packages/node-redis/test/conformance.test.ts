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
import { RESP_TYPES } from "@redis/client";
import { afterAll } from "vitest";
import { over6, overCluster6 } from "./clients.ts";

const server = await startRedisServer();
const cluster = await startRedisCluster(3);
afterAll(() => Promise.all([server.stop(), cluster.stop()]));
const ports = cluster.servers.map((each) => each.port);
const typeMapping = { [RESP_TYPES.NUMBER]: String, [RESP_TYPES.BLOB_STRING]: Buffer };

describeLockNode("nodeRedisNode() over @redis/client 6, RESP3", {
  repetition,
  create: subjectsOver(server.port, (port) => over6(port, undefined, { RESP: 3 }), {
    url: new URL("./fixtures/rival.ts", import.meta.url),
    client: "over6",
  }),
});
describeLockNode("nodeRedisNode() over @redis/client 6, RESP2, a type mapping", {
  ...essentials,
  create: directSubjectsOver(server, () => over6(server.port, undefined, { RESP: 2, commandOptions: { typeMapping } })),
  noServer: noOtherProtocol,
  noOtherProcess: noOtherProtocol,
});
describeLockNode("nodeRedisNode() over a cluster of @redis/client 6", {
  ...essentials,
  create: clusterSubjectsOver(ports, overCluster6, {
    url: new URL("./fixtures/rival.ts", import.meta.url),
    client: "overCluster6",
  }),
  cannot: clusterLimits,
  noServer: noClusterServer,
});

import { describeLockNode } from "@holdfast/conformance";
import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { subjectsOver } from "../../redis/test/subjects.ts";
import { overCluster5, overValkeyCluster } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());
const ports = cluster.servers.map(({ port }) => port);
const prefix = (number: number) => `{${number}}:`;

describeLockNode("ioredisNode() over a Cluster of ioredis 5", {
  create: subjectsOver((options) => overCluster5(ports, options), prefix),
});
describeLockNode("ioredisNode() over a Cluster of iovalkey", {
  create: subjectsOver((options) => overValkeyCluster(ports, options), prefix),
});

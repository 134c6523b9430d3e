/** What the tests of ioredis 6 show, for the other versions. The conformance suite runs over them in `pnpm test`, too. */
import { describeAdapter } from "@holdfast/redis-testkit/describe-adapter";
import { describeClusterAdapter } from "@holdfast/redis-testkit/describe-cluster-adapter";
import { describeClusterFencedStore, describeFencedStore } from "@holdfast/redis-testkit/describe-fenced-store";
import { describeReasons } from "@holdfast/redis-testkit/describe-reasons";
import { startRedisCluster } from "@holdfast/testkit";
import { Redis as Redis5 } from "ioredis5";
import { afterAll, onTestFinished } from "vitest";
import { ioredisNode } from "../src/index.ts";
import { connectionOptions, over5, overCluster5, overValkey, overValkeyCluster } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());

describeAdapter("ioredisNode() over ioredis 5", (port, options) => over5({ port }, options));
describeAdapter("ioredisNode() over iovalkey", (port, options) => overValkey({ port }, options));
describeReasons("ioredisNode() over ioredis 5", (way) => {
  const client = new Redis5(connectionOptions(way)).on("error", () => {});
  onTestFinished(() => client.disconnect());
  return ioredisNode(client);
});
describeFencedStore("ioredisFencedStore() over ioredis 5", (port, options) => over5({ port }, options));
describeFencedStore("ioredisFencedStore() over iovalkey", (port, options) => overValkey({ port }, options));
describeClusterAdapter("ioredisNode() over a Cluster of ioredis 5", cluster, overCluster5);
describeClusterAdapter("ioredisNode() over a Cluster of iovalkey", cluster, overValkeyCluster);
describeClusterFencedStore("ioredisFencedStore() over a Cluster of ioredis 5", cluster, overCluster5);

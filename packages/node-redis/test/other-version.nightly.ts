/** What the tests of @redis/client 6 show, for version 5. The conformance suite runs over it in `pnpm test`, too. */
import { describeAdapter } from "@holdfast/redis-testkit/describe-adapter";
import { describeClusterAdapter } from "@holdfast/redis-testkit/describe-cluster-adapter";
import { describeClusterFencedStore, describeFencedStore } from "@holdfast/redis-testkit/describe-fenced-store";
import { describeReasons } from "@holdfast/redis-testkit/describe-reasons";
import { startRedisCluster } from "@holdfast/testkit";
import { createClient as createClient5 } from "redis-client5";
import { afterAll } from "vitest";
import { over5, overCluster5 } from "./clients.ts";
import { connectionOptions, nodeOf } from "./ways-to-server.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());

describeAdapter("nodeRedisNode() over @redis/client 5", (port, options) => over5(port, options));
describeReasons("nodeRedisNode() over @redis/client 5", (way) => nodeOf(createClient5(connectionOptions(way)), way));
describeFencedStore("nodeRedisFencedStore() over @redis/client 5", (port, options) => over5(port, options));
describeClusterAdapter("nodeRedisNode() over a cluster of @redis/client 5", cluster, overCluster5);
describeClusterFencedStore("nodeRedisFencedStore() over a cluster of @redis/client 5", cluster, overCluster5);

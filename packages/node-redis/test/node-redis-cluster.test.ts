import { describeClusterAccess } from "@holdfast/redis-testkit/describe-access";
import { describeClusterAdapter, describeClusterGuard } from "@holdfast/redis-testkit/describe-cluster-adapter";
import { describeClusterFencedStore } from "@holdfast/redis-testkit/describe-fenced-store";
import { user } from "@holdfast/redis-testkit/permissions";
import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { overCluster6 } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());

describeClusterAdapter("nodeRedisNode() over a cluster of @redis/client 6", cluster, overCluster6);
describeClusterGuard("nodeRedisNode() over a cluster of @redis/client 6", cluster, overCluster6);
describeClusterAccess("nodeRedisNode() over a cluster of @redis/client 6", cluster, (ports) =>
  overCluster6(ports, undefined, user),
);
describeClusterFencedStore("nodeRedisFencedStore() over a cluster of @redis/client 6", cluster, overCluster6);

import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { describeClusterAccess } from "../../redis/test/describe-access.ts";
import { describeClusterAdapter, describeClusterGuard } from "../../redis/test/describe-cluster-adapter.ts";
import { describeClusterFencedStore } from "../../redis/test/describe-fenced-store.ts";
import { user } from "../../redis/test/permissions.ts";
import { overCluster5, overCluster6 } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());

describeClusterAdapter("nodeRedisNode() over a cluster of @redis/client 6", cluster, overCluster6);
describeClusterAdapter("nodeRedisNode() over a cluster of @redis/client 5", cluster, overCluster5);
describeClusterGuard("nodeRedisNode() over a cluster of @redis/client 6", cluster, overCluster6);
describeClusterAccess("nodeRedisNode() over a cluster of @redis/client 6", cluster, (ports) =>
  overCluster6(ports, undefined, user),
);
describeClusterFencedStore("nodeRedisFencedStore() over a cluster of @redis/client 6", cluster, overCluster6);
describeClusterFencedStore("nodeRedisFencedStore() over a cluster of @redis/client 5", cluster, overCluster5);

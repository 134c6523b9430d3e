import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { describeClusterAccess } from "../../redis/test/describe-access.ts";
import { describeClusterAdapter, describeClusterGuard } from "../../redis/test/describe-cluster-adapter.ts";
import { describeClusterFencedStore } from "../../redis/test/describe-fenced-store.ts";
import { user } from "../../redis/test/permissions.ts";
import { overCluster5, overCluster6, overValkeyCluster } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());

describeClusterAdapter("ioredisNode() over a Cluster of ioredis 6", cluster, overCluster6);
describeClusterAdapter("ioredisNode() over a Cluster of ioredis 5", cluster, overCluster5);
describeClusterAdapter("ioredisNode() over a Cluster of iovalkey", cluster, overValkeyCluster);
describeClusterGuard("ioredisNode() over a Cluster of ioredis 6", cluster, overCluster6);
describeClusterAccess("ioredisNode() over a Cluster of ioredis 6", cluster, (ports) =>
  overCluster6(ports, undefined, user),
);
describeClusterFencedStore("ioredisFencedStore() over a Cluster of ioredis 6", cluster, overCluster6);
describeClusterFencedStore("ioredisFencedStore() over a Cluster of ioredis 5", cluster, overCluster5);

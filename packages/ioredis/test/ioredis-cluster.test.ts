import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { describeClusterAdapter } from "../../redis/test/describe-cluster-adapter.ts";
import { overCluster5, overCluster6, overValkeyCluster } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());

describeClusterAdapter("ioredisNode() over a Cluster of ioredis 6", cluster, overCluster6);
describeClusterAdapter("ioredisNode() over a Cluster of ioredis 5", cluster, overCluster5);
describeClusterAdapter("ioredisNode() over a Cluster of iovalkey", cluster, overValkeyCluster);

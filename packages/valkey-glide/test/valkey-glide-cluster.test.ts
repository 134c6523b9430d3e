import { describeClusterAdapter } from "@holdfast/redis-testkit/describe-cluster-adapter";
import { describeClusterFencedStore } from "@holdfast/redis-testkit/describe-fenced-store";
import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { overCluster } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());

describeClusterAdapter("valkeyGlideNode() over a GlideClusterClient", cluster, overCluster);
describeClusterFencedStore("valkeyGlideFencedStore() over a GlideClusterClient", cluster, overCluster);

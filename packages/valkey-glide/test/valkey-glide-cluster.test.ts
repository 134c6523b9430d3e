import { startRedisCluster } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { describeClusterAdapter } from "../../redis/test/describe-cluster-adapter.ts";
import { describeClusterFencedStore } from "../../redis/test/describe-fenced-store.ts";
import { overCluster } from "./clients.ts";

const cluster = await startRedisCluster(3);
afterAll(() => cluster.stop());

describeClusterAdapter("valkeyGlideNode() over a GlideClusterClient", cluster, overCluster);
describeClusterFencedStore("valkeyGlideFencedStore() over a GlideClusterClient", cluster, overCluster);

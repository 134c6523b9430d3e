import type { RedisCluster } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { fencedConnections, fencedDeadlines, fencedReadsAndWrites } from "./adapter/fenced-stores.ts";
import { type MakeClient, toolsFor } from "./adapter-tools.ts";
import { clusterToolsFor, type MakeClusterClient } from "./describe-cluster-adapter.ts";

/** Registers the tests that the fenced store of every adapter has to pass. */
export function describeFencedStore(name: string, makeClient: MakeClient): void {
  const tools = toolsFor(makeClient);
  describe(name, { timeout: 30_000 }, () => {
    fencedReadsAndWrites(tools);
    fencedDeadlines(tools);
    fencedConnections(tools);
  });
}

/** Registers the test that the fenced store of an adapter works on all three shards of a Redis Cluster. */
export function describeClusterFencedStore(name: string, cluster: RedisCluster, makeClient: MakeClusterClient): void {
  const { shardOf, connected } = clusterToolsFor(cluster, makeClient);
  test(`${name}: read() and write() work on every shard, with any braces in the key`, {
    timeout: 30_000,
  }, async () => {
    for (const { command } of cluster.servers) await command("FLUSHALL");
    const store = (await connected()).openStore();
    const keys = ["{", "}", "{}", "}{", "{a", "{}{b}", "a{b}{c}", "{{a}}"];
    for (let i = 0; i < 20; i++) keys.push(`plain ${i}`);
    for (const key of keys) {
      await store.write(key, key, 7);
      expect(await store.read(key, 8), key).toEqual({ value: Buffer.from(key), fence: 7 });
      await expect(store.write(key, "late", 7), key).rejects.toMatchObject({ code: "STALE_FENCE", newestFence: 8 });
    }
    expect(new Set(keys.map(shardOf)).size).toBe(3);
  });
}

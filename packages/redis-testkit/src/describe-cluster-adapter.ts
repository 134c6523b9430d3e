import { ConfigurationError, Redlock } from "@holdfast/core";
import type { RedisNodeOptions } from "@holdfast/redis";
import { clusterSlot } from "@holdfast/redis";
import type { RedisCluster, RedisServer } from "@holdfast/testkit";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { type ClientUnderTest, clientForTest, ready } from "./adapter-tools.ts";
import { acquireRequest, longMs, releaseRequest } from "./requests.ts";
import { eventually, ignore, pass, shortMs } from "./timing.ts";

/** Creates a client for the cluster of these ports of 127.0.0.1. */
export type MakeClusterClient = (ports: readonly number[], options?: RedisNodeOptions) => ClientUnderTest;

/** Registers the tests that every adapter has to pass on a Redis Cluster of three shards, in addition to the suite. */
export function describeClusterAdapter(name: string, cluster: RedisCluster, makeClient: MakeClusterClient): void {
  const { shardOf, connected } = clusterToolsFor(cluster, makeClient);

  describe(name, { timeout: 30_000 }, () => {
    beforeEach(async () => {
      for (const { command } of cluster.servers) await command("FLUSHALL");
    });

    test("Redlock.acquire() of resources in different slots rejects immediately, with the message of the node", async () => {
      const { node } = await connected();
      const redlock = new Redlock([node], { waitTimeoutMs: Infinity });
      const refused = redlock.acquire(["a", "b"]);
      await expect(refused).rejects.toThrow(
        /^could not lock a, b: .*"a" \(slot \d+\), "b" \(slot \d+\) together: they hash to different slots.*hash tag/,
      );
      await expect(refused).rejects.toBeInstanceOf(ConfigurationError);
    });

    test("Redlock.acquire() rejects immediately when two nodes are on the same cluster", async () => {
      const [a, b] = [await connected({ name: "a" }), await connected({ name: "b", prefix: "other:" })];
      const redlock = new Redlock([a.node, b.node], { waitTimeoutMs: Infinity, nodeTimeoutMs: 9_000 });
      const refused = redlock.acquire("{together}");
      await expect(refused).rejects.toBeInstanceOf(ConfigurationError);
      await expect(refused).rejects.toThrow(/ failed: it is the same server as [ab] \(run_id/);
    });

    test("raiseFloor() raises the counters of every shard", async () => {
      const { node } = await connected();
      expect(await node.raiseFloor?.({ floor: 8, epoch: 0, timeoutMs: longMs })).toEqual({ floor: 8, epoch: 0 });
      const names = Array.from({ length: 12 }, (_, index) => `raised ${index}`);
      for (const name of names) {
        const { fence } = await node.inspect(name);
        expect(fence, name).toBe(8);
      }
      expect(new Set(names.map((name) => shardOf(`lock:${name}`))).size).toBe(3);
    });

    test("watch() reports releases on every shard", async () => {
      const [{ node }, rival] = [await connected(), await connected()];
      const resources = Array.from({ length: 12 }, (_, i) => `watched ${i}`);
      const heard = vi.fn();
      const unwatch = await node.watch?.(resources, heard);
      for (const resource of resources) {
        await rival.node.acquire(acquireRequest("alice", { resources: [resource] }));
        await rival.node.release(releaseRequest("alice", [resource]));
        await eventually(() => expect(heard.mock.calls.map(([name]) => name)).toContain(resource));
      }
      await unwatch?.();
    });

    test("acquire() in flight when its connection is cut is not resent after timeoutMs", async () => {
      const { node } = await connected();
      const resource = "given up";
      const { command } = shardOf(`lock:${resource}`);
      await node.inspect(resource);
      await command("CLIENT", "PAUSE", longMs, "WRITE");
      ignore(node.acquire(acquireRequest("alice", { resources: [resource], timeoutMs: shortMs })));
      await pass(shortMs);
      await eventually(async () => expect(String(await command("INFO", "clients"))).toMatch(/blocked_clients:[1-9]/));
      await command("CLIENT", "KILL", "TYPE", "normal");
      await command("CLIENT", "UNPAUSE");
      // Clients that resend do it within a tenth of a second.
      await pass(300);
      await eventually(() => node.inspect(resource));
      expect(await node.acquire(acquireRequest("bob", { resources: [resource] }))).toEqual({ granted: true, fence: 1 });
    });

    // On a busy machine, the servers need long to agree that the shard is back.
    test("acquire() fails while its shard is down, and works when it is back", { timeout: 90_000 }, async () => {
      const { node } = await connected();
      const resource = "gone";
      const shard = shardOf(`lock:${resource}`);
      const request = acquireRequest("alice", { resources: [resource] });
      await node.acquire(request);
      await shard.kill();
      // One that the client takes before it notices the loss may wait in it for the reconnection.
      const probe = acquireRequest("bob", { resources: [resource], timeoutMs: shortMs });
      const failed = vi.fn();
      await eventually(() => {
        node.acquire(probe).catch(failed);
        expect(failed).toHaveBeenCalled();
      });
      await shard.restart();
      await vi.waitFor(() => node.inspect(resource), { timeout: 60_000, interval: 20 });
      expect(await node.acquire(request)).toEqual({ granted: true, fence: 1 });
    });
  });
}

/** Registers the test that each shard has its own restart guard. It is slow, as servers report their uptime in seconds. */
export function describeClusterGuard(name: string, cluster: RedisCluster, makeClient: MakeClusterClient): void {
  const { shardOf, connected } = clusterToolsFor(cluster, makeClient);
  test(`${name}: acquire() with a restart guard depends on the start time of the shard that it asks`, {
    timeout: 60_000,
  }, async () => {
    const { node } = await connected({ restartGuardMs: longMs });
    const resource = "restarted";
    const shard = shardOf(`lock:${resource}`);
    const elsewhere = ["a", "b", "c"].find((name) => shardOf(`lock:${name}`) !== shard) as string;
    const leftMs = async (name: string) => (await node.inspect(name)).recoveringMs ?? 0;
    await eventually(async () => expect(await leftMs(elsewhere)).toBeLessThan(longMs - 1_000));
    await shard.restart();
    const [restartedMs, otherMs] = await vi.waitFor(
      async () => [await leftMs(resource), await leftMs(elsewhere)] as const,
      { timeout: 30_000, interval: 20 },
    );
    expect(restartedMs).toBeGreaterThan(otherMs);
    await expect(node.acquire(acquireRequest("alice", { resources: [resource] }))).rejects.toThrow("recovering");
  });
}

/** Returns functions that find shards and create clients, which are closed when the test ends. */
export function clusterToolsFor(cluster: RedisCluster, makeClient: MakeClusterClient) {
  const ports = cluster.servers.map(({ port }) => port);
  return {
    shardOf: (key: string) => cluster.servers[Math.floor((clusterSlot(key) * 3) / 16_384)] as RedisServer,
    async connected(options?: RedisNodeOptions): Promise<ClientUnderTest> {
      const client = await ready(clientForTest(makeClient(ports, options)));
      // The client connects to each shard on first use.
      for (let i = 0; i < 12; i++) await eventually(() => client.node.inspect(`warm-up ${i}`));
      return client;
    },
  };
}

import { ConfigurationError, Redlock } from "@holdfast/core";
import { clusterSlot } from "@holdfast/redis";
import { type RedisServer, startRedisCluster } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import type { ClientUnderTest, Tools } from "../adapter-tools.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "../requests.ts";

const names = Array.from({ length: 40 }, (_, index) => `r${index}`);
const isFirst = (name: string): boolean => clusterSlot(`lock:${name}`) < 8_192;
const local = names.filter(isFirst);
const [foreign] = names.filter((name) => !isFirst(name)) as [string];

/**
 * Tests a plain client at one of the endpoints of a server with two shards, as behind some proxies and services. It gets
 * an error for calls with keys of several slots, or of the other shard.
 */
export function shards({ connected }: Tools): void {
  const connect = async (): Promise<{ client: ClientUnderTest; first: RedisServer }> => {
    const cluster = await startRedisCluster(2);
    onTestFinished(() => cluster.stop());
    const [first] = cluster.servers as [RedisServer];
    return { client: await connected(first.port), first };
  };

  test("locks every name of its shard, exclusive and shared, in batches too, and refuses the others", async () => {
    const { client, first } = await connect();
    const { node } = client;
    const lockAll = async (terms: { shared?: boolean }): Promise<void> => {
      const grants = local.map((name) => node.acquire(acquireRequest(`by ${name}`, { resources: [name], ...terms })));
      for (const answer of await Promise.all(grants)) expect(answer).toMatchObject({ granted: true });
      const kept = local.map((name) => node.extend(extendRequest(`by ${name}`, { resources: [name], ...terms })));
      for (const answer of await Promise.all(kept)) expect(answer).toMatchObject({ held: true });
      const views = await Promise.all(local.map((name) => node.inspect(name)));
      expect(views.map(({ owner }) => owner)).toEqual(local.map((name) => `by ${name}`));
      const releases = local.map((name) => node.release(releaseRequest(`by ${name}`, [name])));
      for (const answer of await Promise.all(releases)) expect(answer).toMatchObject({ released: true });
    };
    await lockAll({});
    await lockAll({ shared: true });
    await expect(node.acquire(acquireRequest("alice", { resources: [foreign] }))).rejects.toThrow(
      `"${foreign}" is on another shard of the Redis Cluster: use a cluster client, which finds the shard of each key (MOVED`,
    );
    for (const refused of [
      node.raiseFloor?.({ floor: 1, epoch: 0, timeoutMs: longMs }),
      node.scan?.({ timeoutMs: longMs }),
    ]) {
      await expect(refused).rejects.toThrow(
        "the fence counters are on several shards of the Redis Cluster: use a cluster",
      );
    }

    // From then on, nothing is sent twice.
    await first.command("CONFIG", "RESETSTAT");
    await lockAll({});
    expect(String(await first.command("INFO", "commandstats"))).toContain(`cmdstat_evalsha:calls=${4 * local.length},`);
    expect(String(await first.command("INFO", "errorstats"))).not.toContain("CROSSSLOT");
  });

  test("says that resources in several slots need a hash tag", async () => {
    const { client } = await connect();
    const redlock = new Redlock([client.node]);
    const refused = redlock.acquire(local.slice(0, 2));
    await expect(refused).rejects.toBeInstanceOf(ConfigurationError);
    await expect(refused).rejects.toThrow(/"r\d+" \(slot \d+\), "r\d+" \(slot \d+\) together: .*hash tag/);
    const tag = names.map((name) => `{${name}}`).find(isFirst);
    await redlock.using([`${tag}a`, `${tag}b`], (lock) => lock.signal.throwIfAborted());
    await redlock.close();
  });
}

import { isNightly, type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { contenderNamed, everyone } from "../src/contenders/index.ts";

let servers: RedisServer[];

beforeAll(async () => {
  servers = await Promise.all([startRedisServer(), startRedisServer(), startRedisServer()]);
});

afterAll(() => Promise.all(servers.map((server) => server.stop())));

/** Those over several servers, and those without any. */
const overRedis = everyone.filter(({ store }) => store === "redis" || store === "memory");

describe.each(overRedis)("$name", ({ name, store, load, settings }) => {
  test.each(isNightly ? [1, 3] : [3])("locks and unlocks, servers: %i", async (count) => {
    const connect = await load();
    const some = servers.slice(0, count);
    const client = await connect(
      some.map(({ port }) => port),
      settings,
    );
    const key = `${name}:${count}`;
    const lockKeys = async (): Promise<string[]> => {
      const found = await Promise.all(some.map((server) => server.command("KEYS", `*${key}`)));
      return (found.flat() as string[]).filter((one) => !one.includes("fence:"));
    };
    const release = await client.acquire(key);
    if (store === "redis") await expect.poll(lockKeys).toHaveLength(count);
    await release();
    await expect.poll(lockKeys).toHaveLength(0);
    await (await client.acquire(key))();
    await client.close();
  });
});

test("bare hands a lock over when a majority of the servers has published its release", async () => {
  const { load, settings } = contenderNamed("bare");
  const connect = await load();
  const ports = servers.map(({ port }) => port);
  const [holder, waiter] = [await connect(ports, settings), await connect(ports, settings)];
  const release = await holder.acquire("handed-over");
  const acquired = waiter.acquire("handed-over");
  const subscribers = async () => String(await servers[0]?.command("PUBSUB", "NUMSUB", "handed-over"));
  await expect.poll(subscribers).toBe("handed-over,2");
  await release();
  await (await acquired)();
  await Promise.all([holder.close(), waiter.close()]);
});

import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { everyone } from "../src/contenders/index.ts";
import { ttlMs } from "../src/process/calls.ts";

let servers: RedisServer[];

beforeAll(async () => {
  servers = await Promise.all([startRedisServer(), startRedisServer(), startRedisServer()]);
});

afterAll(() => Promise.all(servers.map((server) => server.stop())));

describe.each(everyone)("$name", ({ name, load, settings, locksSeveral, spansProcesses }) => {
  test.each([1, 3])("locks and unlocks, servers: %i", async (count) => {
    const { connect } = await load();
    const some = servers.slice(0, count);
    const ports = some.map(({ port }) => port);
    const client = await connect(ports, settings);
    const keys = [`${name}:${count}`, ...(locksSeveral ? [`${name}:${count}:other`] : [])];
    const claims = async (): Promise<string[]> => {
      const found = await Promise.all(some.map((server) => server.command("KEYS", `*${name}:${count}*`)));
      return (found.flat() as string[]).filter((key) => !key.includes("fence:"));
    };
    const release = await client.acquire(keys, ttlMs);
    if (spansProcesses) await expect.poll(claims).toHaveLength(keys.length * count);
    await release();
    await expect.poll(claims).toHaveLength(0);
    await (await client.acquire(keys, ttlMs))();
    await client.close();
  });
});

import { connectIoredis, connectNodeRedis, disconnect } from "@holdfast/app-kit/clients";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { type Cleanup, createCleanup } from "@holdfast/testkit/cleanup";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { counterOf, type Database } from "../src/database/database.ts";
import { memoryDatabase } from "../src/database/memory-database.ts";
import { redisDatabase } from "../src/database/redis-database.ts";

let server: RedisServer;
const cleanup: Cleanup = createCleanup();

beforeAll(async () => {
  server = await startRedisServer();
  cleanup.defer(() => server.stop());
}, 30_000);
afterAll(() => cleanup.run());

async function overRedis(library: "ioredis" | "node-redis"): Promise<Database> {
  await server.command("FLUSHALL");
  if (library === "ioredis") {
    const [client] = await connectIoredis([server.url]);
    cleanup.defer(() => client?.disconnect());
    return redisDatabase(async ([command = "", ...args]) => client?.call(command, ...args));
  }
  const clients = await connectNodeRedis([server.url]);
  cleanup.defer(() => disconnect(clients));
  return redisDatabase(async (args) => clients[0]?.sendCommand(args));
}

describe.each([
  ["memory", async () => memoryDatabase()],
  ["redis over ioredis", () => overRedis("ioredis")],
  ["redis over node-redis", () => overRedis("node-redis")],
])("the database: %s", (_name, open) => {
  it("get() is 0 at first, and then what was set", async () => {
    const database = await open();
    expect(await database.get("a")).toBe(0);
    await database.set("a", 5);
    await database.set("a", 4);
    expect(await database.get("a")).toBe(4);
    expect(await database.get("b")).toBe(0);
    expect(await database.look("a")).toBe(4);
  });

  it("getFenced() makes the counter refuse smaller tokens", async () => {
    const database = await open();
    expect(await database.setFenced("a", 7, 1)).toEqual({ accepted: true, value: 1 });
    expect(await database.getFenced("a", 9)).toEqual({ accepted: true, value: 1 });
    expect(await database.setFenced("a", 8, 2)).toEqual({ accepted: false, newestFence: 9 });
    expect(await database.getFenced("a", 8)).toEqual({ accepted: false, newestFence: 9 });
    expect(await database.setFenced("a", 9, 3)).toEqual({ accepted: true, value: 3 });
    expect(await database.look("a")).toBe(3);
    expect(await database.look("nothing")).toBe(0);
  });

  it("setFenced() distinguishes the two largest tokens", async () => {
    const database = await open();
    const fence = Number.MAX_SAFE_INTEGER;
    expect(await database.getFenced("a", fence)).toEqual({ accepted: true, value: 0 });
    expect(await database.setFenced("a", fence - 1, 1)).toEqual({ accepted: false, newestFence: fence });
  });

  it("counterOf() shows the token to fenced counters alone", async () => {
    const database = await open();
    await counterOf(database, "plain", 9, false).write(1);
    expect(await counterOf(database, "plain", 8, false).write(2)).toEqual({ accepted: true, value: 2 });
    await counterOf(database, "fenced", 9, true).read();
    expect(await counterOf(database, "fenced", 8, true).write(2)).toEqual({ accepted: false, newestFence: 9 });
  });
});

import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryDatabase, redisDatabase, StaleToken } from "../src/database.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
}, 30_000);
afterAll(() => server.stop());

describe.each([
  ["memory", async () => memoryDatabase()],
  [
    "redis",
    async () => {
      await server.command("FLUSHALL");
      return redisDatabase(server.command);
    },
  ],
])("the database: %s", (_name, open) => {
  it("read() is 0 at first, and then what was written", async () => {
    const database = await open();
    expect(await database.read("a")).toBe(0);
    await database.write("a", 5);
    await database.write("a", 4);
    expect(await database.read("a")).toBe(4);
    expect(await database.read("b")).toBe(0);
    expect(await database.look("a")).toBe(4);
  });

  it("read() and write() with a token make the counter refuse smaller tokens", async () => {
    const database = await open();
    await database.write("a", 1, 7);
    expect(await database.read("a", 9)).toBe(1);
    await expect(database.write("a", 2, 8)).rejects.toEqual(new StaleToken(9));
    await expect(database.read("a", 8)).rejects.toMatchObject({ newestFence: 9 });
    await database.write("a", 3, 9);
    expect(await database.look("a")).toBe(3);
    expect(await database.look("nothing")).toBe(0);
  });

  it("write() distinguishes the two largest tokens", async () => {
    const database = await open();
    const fence = Number.MAX_SAFE_INTEGER;
    expect(await database.read("a", fence)).toBe(0);
    await expect(database.write("a", 1, fence - 1)).rejects.toMatchObject({ newestFence: fence });
  });
});

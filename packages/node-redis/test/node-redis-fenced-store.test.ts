import { describeFencedStore } from "@holdfast/redis-testkit/describe-fenced-store";
import { eventually } from "@holdfast/redis-testkit/timing";
import { startRedisServer } from "@holdfast/testkit";
import { createClient, createClientPool } from "@redis/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { type NodeRedisClient, nodeRedisFencedStore } from "../src/index.ts";
import { over6 } from "./clients.ts";

describeFencedStore("nodeRedisFencedStore() over @redis/client 6", (port, options) => over6(port, options));

describe("nodeRedisFencedStore()", () => {
  test("throws a TypeError for a value that is not a client, for a pool, and for a client with a keyPrefix", () => {
    for (const client of [undefined, null, {}, "redis://localhost", createClientPool()]) {
      expect(() => nodeRedisFencedStore(client as unknown as NodeRedisClient)).toThrow(TypeError);
    }
    const prefixed = createClient({ keyPrefix: "app:" });
    expect(() => nodeRedisFencedStore(prefixed)).toThrow('use one without it, and put "app:" before each key');
  });

  test.each([
    ["RESP2", { RESP: 2 as const }],
    ["RESP3", { RESP: 3 as const }],
    ["numbers as strings", { commandOptions: { typeMapping: { 58: String } } }],
  ])("works for a client with %s", async (_, options) => {
    const server = await startRedisServer();
    onTestFinished(server.stop);
    const client = over6(server.port, {}, options);
    onTestFinished(client.close);
    await eventually(() => expect(client.isReady()).toBe(true));
    const store = client.openStore();
    await store.write("key", Buffer.from([0, 255]), 7);
    expect(await store.read("key", 8)).toEqual({ value: Buffer.from([0, 255]), fence: 7 });
    await expect(store.write("key", "late", 7)).rejects.toMatchObject({ newestFence: 8 });
  });
});

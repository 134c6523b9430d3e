import { describeFencedStore } from "@holdfast/redis-testkit/describe-fenced-store";
import { startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { type IoredisClient, ioredisFencedStore } from "../src/index.ts";
import { over6 } from "./clients.ts";

describeFencedStore("ioredisFencedStore() over ioredis 6", (port, options) => over6({ port }, options));

describe("ioredisFencedStore()", () => {
  test("throws a TypeError for a value that is not a client, and for a client with a keyPrefix", () => {
    for (const client of [undefined, null, {}, "redis://localhost"]) {
      expect(() => ioredisFencedStore(client as unknown as IoredisClient)).toThrow(TypeError);
    }
    const prefixed = new Redis({ lazyConnect: true, keyPrefix: "app:" });
    expect(() => ioredisFencedStore(prefixed)).toThrow('use one without it, and put "app:" before each key');
  });

  test.each([
    ["with automatic pipelines", { enableAutoPipelining: true }],
    ["with RESP3", { protocol: 3 as const }],
  ])("works for a client %s", async (_, options) => {
    const server = await startRedisServer();
    onTestFinished(server.stop);
    const client = new Redis({ port: server.port, ...options });
    onTestFinished(() => client.disconnect());
    await client.ping();
    const store = ioredisFencedStore(client);
    await Promise.all(["a", "b"].map((key) => store.write(key, `value of ${key}`, 7)));
    expect(String((await store.read("b", 8)).value)).toBe("value of b");
    await expect(store.write("b", "late", 7)).rejects.toMatchObject({ newestFence: 8 });
  });
});

import { describeAdapter } from "@holdfast/redis-testkit/describe-adapter";
import { describeProcessEnd } from "@holdfast/redis-testkit/describe-process-end";
import { describeReasons } from "@holdfast/redis-testkit/describe-reasons";
import { describeSecrets } from "@holdfast/redis-testkit/describe-secrets";
import { acquireRequest } from "@holdfast/redis-testkit/requests";
import { startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { type IoredisClient, ioredisFencedStore, ioredisNode } from "../src/index.ts";
import { connectionOptions, over6 } from "./clients.ts";

describeAdapter("ioredisNode() over ioredis 6", (port, options) => over6({ port }, options));

describeSecrets("ioredisNode() and ioredisFencedStore()", {
  client: new Redis({ lazyConnect: true }) as IoredisClient,
  node: (client, options) => ioredisNode(client, options),
  store: (client, options) => ioredisFencedStore(client, options),
});
describeReasons("ioredisNode() over ioredis 6", (way) => {
  const client = new Redis(connectionOptions(way)).on("error", () => {});
  onTestFinished(() => client.disconnect());
  return ioredisNode(client);
});

describeProcessEnd("ioredisNode()", new URL("./fixtures/lock-and-leave.ts", import.meta.url));

describe("ioredisNode()", () => {
  const idle = { lazyConnect: true };

  test("has the address of the server as its name, without any password", () => {
    const nameOf = (client: IoredisClient) => ioredisNode(client).name;
    expect(nameOf(new Redis(idle))).toBe("localhost:6379");
    expect(nameOf(new Redis("redis://user:secret@redis-1.internal:7000/3", idle))).toBe("redis-1.internal:7000/3");
    expect(nameOf(new Redis("/run/redis.sock", idle))).toBe("/run/redis.sock");
    const sentinels = [{ host: "redis-1.internal", port: 26379 }];
    expect(nameOf(new Redis({ ...idle, sentinels, name: "mymaster", password: "secret" }))).toBe("sentinel mymaster");
    const cluster = new Redis.Cluster([{ host: "redis-1.internal", port: 7000 }], idle);
    expect(nameOf(cluster)).toMatch(/^cluster [0-9a-f]{8}$/);
    expect(ioredisNode(new Redis(idle), { name: "a" }).name).toBe("a");
  });

  test("throws a TypeError for a value that is not a client", () => {
    for (const client of [undefined, null, {}, "redis://localhost", { evalsha() {} }]) {
      expect(() => ioredisNode(client as unknown as IoredisClient)).toThrow(TypeError);
    }
  });

  test("throws a TypeError for a client with a keyPrefix, and suggests a prefix", () => {
    const clients = [
      new Redis({ ...idle, keyPrefix: "app:" }),
      new Redis.Cluster([{ port: 7000 }], { ...idle, redisOptions: { keyPrefix: "app:" } }),
    ];
    for (const client of clients) expect(() => ioredisNode(client)).toThrow('prefix: "app:lock:"');
  });

  test("survives the loss of the permission to subscribe", { timeout: 40_000 }, async () => {
    const { port, command, stop } = await startRedisServer();
    onTestFinished(stop);
    await command("ACL", "SETUSER", "watcher", "on", ">secret", "+@all", "~*", "&*");
    const client = new Redis({ port, username: "watcher", password: "secret" });
    const node = ioredisNode(client);
    onTestFinished(async () => {
      await node.close();
      client.disconnect();
    });
    await client.ping();
    await node.watch?.(["r"], () => {});
    await command("ACL", "SETUSER", "watcher", "resetchannels"); // ends the connection of the subscriber
    const refused = async () => JSON.stringify(await command("ACL", "LOG"));
    await expect.poll(refused).toContain("holdfast:released");
    expect((await node.acquire(acquireRequest("alice"))).granted).toBe(true);
  });
});

import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { describeAdapter } from "@holdfast/redis-testkit/describe-adapter";
import { describeProcessEnd } from "@holdfast/redis-testkit/describe-process-end";
import { describeReasons } from "@holdfast/redis-testkit/describe-reasons";
import { describeSecrets } from "@holdfast/redis-testkit/describe-secrets";
import { acquireRequest } from "@holdfast/redis-testkit/requests";
import { eventually, ignore, pass, shortMs } from "@holdfast/redis-testkit/timing";
import { startRedisServer } from "@holdfast/testkit";
import { createClient, createClientPool, createCluster, createSentinel } from "@redis/client";
import { createClientPool as createClientPool5, createSentinel as createSentinel5 } from "redis-client5";
import { describe, expect, onTestFinished, test } from "vitest";
import { type NodeRedisClient, nodeRedisFencedStore, nodeRedisNode } from "../src/index.ts";
import { over5, over6 } from "./clients.ts";
import { connectionOptions, nodeOf } from "./ways-to-server.ts";

describeAdapter("nodeRedisNode() over @redis/client 6", (port, options) => over6(port, options));

describeSecrets("nodeRedisNode() and nodeRedisFencedStore()", {
  client: createClient() as NodeRedisClient,
  node: (client, options) => nodeRedisNode(client, options),
  store: (client, options) => nodeRedisFencedStore(client, options),
});
describeReasons("nodeRedisNode() over @redis/client 6", (way) => nodeOf(createClient(connectionOptions(way)), way));

describeProcessEnd("nodeRedisNode()", new URL("./fixtures/lock-and-leave.ts", import.meta.url));

describe("nodeRedisNode()", () => {
  test("has the address of the server as its name, without any password", () => {
    expect(nodeRedisNode(createClient()).name).toBe("localhost:6379");
    const url = "redis://user:secret@redis-1.internal:7000/3";
    expect(nodeRedisNode(createClient({ url })).name).toBe("redis-1.internal:7000/3");
    expect(nodeRedisNode(createClient({ socket: { path: "/run/redis.sock", tls: false } })).name).toBe(
      "/run/redis.sock",
    );
    expect(nodeRedisNode(createCluster({ rootNodes: [{ url }] })).name).toMatch(/^cluster [0-9a-f]{8}$/);
    expect(nodeRedisNode(createClient(), { name: "a" }).name).toBe("a");
  });

  test("throws a TypeError for a value that is not a client", () => {
    for (const client of [undefined, null, {}, "redis://localhost", { isReady: true }]) {
      expect(() => nodeRedisNode(client as unknown as NodeRedisClient)).toThrow(TypeError);
    }
  });

  test("throws a TypeError for a pool or a sentinel, whose connections could reorder a release", () => {
    const sentinel = { name: "mymaster", sentinelRootNodes: [{ host: "127.0.0.1", port: 26379 }] };
    const others = [createClientPool(), createClientPool5(), createSentinel(sentinel), createSentinel5(sentinel)];
    for (const client of others) {
      expect(() => nodeRedisNode(client as unknown as NodeRedisClient)).toThrow("not be a pool or a sentinel");
    }
  });

  test("throws a TypeError for a client with a keyPrefix, and suggests a prefix", () => {
    expect(() => nodeRedisNode(createClient({ keyPrefix: "app:" }))).toThrow('prefix: "app:lock:"');
  });

  test("acquire() accepts no foreign grant when @redis/client 5 mismatches replies after a reconnection", async () => {
    const server = await startRedisServer();
    onTestFinished(() => server.stop());
    const network = await startTcpProxy({ port: server.port });
    onTestFinished(() => network.close());
    const { node, isReady, flood, close } = over5(network.port, {}, { disableClientInfo: true });
    onTestFinished(close);
    await eventually(() => expect(isReady()).toBe(true));
    await node.acquire(acquireRequest("alice", { resources: ["held"] }));

    network.stall("requests");
    flood("x".repeat(32 * 1024 * 1024));
    await pass(shortMs);
    network.cut();
    await network.start();
    // Until the client notices, it writes commands to the dead connection, and expects their replies on the next one.
    ignore(node.inspect("r"));
    await pass(1);
    const replies: Promise<unknown>[] = [];
    for (let i = 0; i < 20; i++) {
      ignore(node.acquire(acquireRequest(`owner ${i}`, { resources: [`free ${i}`] })));
      const reply = node.acquire(acquireRequest(`owner ${i}`, { resources: ["held"] }));
      replies.push(reply.catch((error: Error) => error.message));
      await pass(1);
    }
    const settled = Promise.all(replies);
    let isSettled = false;
    ignore(
      settled.finally(() => {
        isSettled = true;
      }),
    );
    // The last replies arrive with those to further commands.
    while (!isSettled) {
      ignore(node.inspect("r"));
      await pass(1);
    }
    for (const reply of await settled) expect(reply).not.toHaveProperty("granted", true);
  });
});

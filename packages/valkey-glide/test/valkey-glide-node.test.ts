import { setImmediate } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { lostConnection, releaseWhileNotConnected } from "@holdfast/redis-testkit/adapter/connections";
import { watchLifetime, watchReconnection } from "@holdfast/redis-testkit/adapter/notifications";
import { hangingServer, serverWithoutScript } from "@holdfast/redis-testkit/adapter/servers";
import { comeBack, expectNeverClaimed, toolsFor, warmUp } from "@holdfast/redis-testkit/adapter-tools";
import { describeProcessEnd } from "@holdfast/redis-testkit/describe-process-end";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { eventually, ignore, shortMs } from "@holdfast/redis-testkit/timing";
import { type Batch, Decoder, GlideClient, GlideClusterClient, ProtocolVersion } from "@valkey/valkey-glide";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type ValkeyGlideClient, type ValkeyGlideNodeOptions, valkeyGlideNode } from "../src/index.ts";
import { over } from "./clients.ts";

const tools = toolsFor((port, options) => over(port, options));
const { server, proxy, connected } = tools;

describeProcessEnd("valkeyGlideNode()", new URL("./fixtures/lock-and-leave.ts", import.meta.url));

describe("valkeyGlideNode() over a GlideClient", { timeout: 30_000 }, () => {
  describe("a connection that is lost", () => lostConnection(tools));
  describe("a server that hangs", () => hangingServer(tools));
  describe("a server without the script", () => serverWithoutScript(tools));
  describe("watches after a lost connection", () => watchReconnection(tools));
  describe("watches", () => watchLifetime(tools));
});

describe("a GlideClient that is not connected", { timeout: 30_000 }, () => {
  test("acquire() rejects after timeoutMs, and is not sent when the connection is restored", async () => {
    const { port, command } = await server();
    const network = await proxy({ port });
    const client = await connected(network.port);
    await network.refuse();
    network.cut();
    await eventually(() => expect(client.isReady()).toBe(false));
    await expect(client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs }))).rejects.toThrow("timed out");
    await network.start();
    await comeBack(client);
    await expectNeverClaimed(command);
  });

  test("every claim rejects immediately while the server is known to be down", async () => {
    const mortal = await server();
    const client = await connected(mortal.port);
    await client.node.acquire(acquireRequest("alice"));
    await mortal.kill();
    const lost = "the client is not connected";
    const attempt = () => client.node.acquire(acquireRequest("bob", { timeoutMs: shortMs }));
    await eventually(() => expect(attempt()).rejects.toThrow(lost));
    await expect(client.node.acquire(acquireRequest("alice"))).rejects.toThrow(lost);
    await expect(client.node.extend(extendRequest("alice"))).rejects.toThrow(lost);
    await expect(client.node.inspect("r")).rejects.toThrow(lost);
    await expect(client.node.watch?.(["r"], () => {})).rejects.toThrow(lost);
    await mortal.restart();
    await comeBack(client);
    expect(await client.node.acquire(acquireRequest("bob"))).toEqual({ granted: true, fence: 1 });
  });

  releaseWhileNotConnected(tools);

  test("acquire() reports its reply even if it was released before the connection was restored", async () => {
    const network = await proxy(await server());
    const client = await connected(network.port);
    await warmUp(client);
    await network.refuse();
    network.cut();
    await eventually(() => expect(client.isReady()).toBe(false));
    const claim = client.node.acquire(acquireRequest("alice", { timeoutMs: longMs }));
    await setImmediate(); // GLIDE has copied the command by now
    ignore(client.node.release(releaseRequest("alice")));
    await network.start();
    expect(await claim).toEqual({ granted: true, fence: 1 });
  });

  test("every operation rejects when the client is closed", async () => {
    const { port } = await server();
    const client = await connected(port);
    await warmUp(client);
    client.close();
    await eventually(() => expect(client.node.acquire(acquireRequest("alice"))).rejects.toThrow());
    await expect(client.node.release(releaseRequest("alice"))).rejects.toThrow("closed");
    await expect(client.node.inspect("r")).rejects.toThrow("the client is not connected");
  });
});

describe("valkeyGlideNode()", { timeout: 30_000 }, () => {
  const glide = async (port: number, options: object = {}): Promise<GlideClient> => {
    const client = await GlideClient.createClient({ addresses: [{ host: "127.0.0.1", port }], ...options });
    onTestFinished(() => client.close());
    return client;
  };

  test("Redlock leaves no claim behind when GLIDE delays and reorders commands under load", async () => {
    const { port, command } = await server();
    const client = await glide(port, { inflightRequestsLimit: 20_000 });
    let underWay = 0;
    const node = valkeyGlideNode({
      async exec(batch, raiseOnError, terms) {
        underWay += 1;
        try {
          return await client.exec(batch as Batch, raiseOnError, terms);
        } finally {
          underWay -= 1;
        }
      },
    });
    await node.inspect("warm-up");
    const redlock = new Redlock([node], { ttlMs: 600_000, nodeTimeoutMs: 5 });
    const attempt = async (resource: string): Promise<void> => {
      const lock = await redlock.tryAcquire(resource).catch(() => null);
      await lock?.release().catch(() => {});
    };
    // Keeps the thread of GLIDE busy for longer than the node timeout.
    const flood = client.set("flood", "x".repeat(8 * 1024 * 1024)).catch(() => {});
    await Promise.all(Array.from({ length: 300 }, (_, i) => attempt(`resource ${i}`)));
    await flood;
    await eventually(() => expect(underWay).toBe(0));
    expect(await command("KEYS", "lock:*")).toEqual([]);
  });

  test.each([
    ["RESP2", { protocol: ProtocolVersion.RESP2 }],
    ["replies as bytes", { defaultDecoder: Decoder.Bytes }],
    ["a lazy connection", { lazyConnect: true }],
  ])("works for a client with %s", async (_, options) => {
    const { port } = await server();
    const node = valkeyGlideNode(await glide(port, options));
    expect(await node.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    expect(await node.extend(extendRequest("alice"))).toEqual({ held: true, fence: 1 });
    expect(await node.inspect("r")).toMatchObject({ owner: "alice", fence: 1 });
    expect(await node.acquire(acquireRequest("bob"))).toMatchObject({ granted: false });
    expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
  });

  test("has no watch() without a subscriber, but notifies nodes that have one", async () => {
    const { port } = await server();
    const node = valkeyGlideNode(await glide(port));
    expect(node.watch).toBeUndefined();
    const watcher = await connected(port);
    const heard = vi.fn();
    await watcher.node.watch?.(["r"], heard);
    await node.acquire(acquireRequest("alice"));
    await node.release(releaseRequest("alice"));
    await eventually(() => expect(heard).toHaveBeenCalledWith("r"));
  });

  test("watch() rejects if the subscriber cannot be created, and can be retried", async () => {
    const { port } = await server();
    let attempts = 0;
    const subscriber = async () => {
      attempts += 1;
      if (attempts === 1) throw new Error("no more connections");
      return glide(port);
    };
    const node = valkeyGlideNode(await glide(port), { subscriber });
    await expect(node.watch?.(["r"], () => {})).rejects.toThrow("no more connections");
    const unwatch = await node.watch?.(["r"], () => {});
    await unwatch?.();
    await node.close();
  });

  test("has a generated name, or the given one", async () => {
    const { port } = await server();
    const client = await glide(port);
    expect(valkeyGlideNode(client).name).toMatch(/^valkey-glide [0-9a-f]{8}$/);
    expect(valkeyGlideNode(client, { name: "a" }).name).toBe("a");
    const cluster = { exec: client.exec, ssubscribe: GlideClusterClient.prototype.ssubscribe };
    expect(valkeyGlideNode(cluster).name).toMatch(/^cluster [0-9a-f]{8}$/);
  });

  test("throws a TypeError for a value that is not a client, and for a subscriber that is not a function", () => {
    for (const client of [undefined, null, {}, "redis://localhost", GlideClient]) {
      expect(() => valkeyGlideNode(client as unknown as ValkeyGlideClient)).toThrow(TypeError);
    }
    const client = { exec: async () => [] };
    const options = { subscriber: client } as unknown as ValkeyGlideNodeOptions;
    expect(() => valkeyGlideNode(client, options)).toThrow("subscriber must be a function");
  });

  test("throws a RangeError for a bad option", () => {
    expect(() => valkeyGlideNode({ exec: async () => [] }, { restartGuardMs: -1 })).toThrow(RangeError);
  });
});

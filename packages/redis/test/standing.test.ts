import { ConfigurationError, Redlock } from "@holdfast/core";
import { type RedisServer, type RedisServerOptions, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { type RedisNode, type RedisNodeOptions, redisNode } from "../src/index.ts";
import { connectionOver } from "./connection.ts";
import { allow, documentedPermissions, user } from "./permissions.ts";
import { acquireRequest, eventually, ignore, longMs, releaseRequest } from "./requests.ts";

interface Address {
  readonly host?: string;
  readonly port?: number;
  readonly family?: number;
  readonly path?: string;
  readonly db?: number;
  readonly username?: string;
  readonly password?: string;
}

async function start(options?: RedisServerOptions): Promise<RedisServer> {
  const server = await startRedisServer(options);
  onTestFinished(() => server.stop());
  return server;
}

async function nodeAt(address: Address, options: RedisNodeOptions): Promise<RedisNode> {
  const client = new Redis({ ...address, lazyConnect: true, retryStrategy: () => 5, enableReadyCheck: false });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  await client.connect();
  return redisNode(connectionOver(client), options);
}

/** Tries for ever, and so shows that an error comes at once. */
function redlockOf(nodes: readonly RedisNode[]): Redlock {
  return new Redlock(nodes, { waitTimeoutMs: Infinity, nodeTimeoutMs: 9_000 });
}

async function rejectionOf(redlock: Redlock): Promise<ConfigurationError> {
  const error: unknown = await redlock.acquire("r").catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigurationError);
  return error as ConfigurationError;
}

describe("the same server twice in a Redlock", { timeout: 30_000 }, () => {
  const ways: [string, (server: RedisServer) => Address, RedisNodeOptions][] = [
    ["the same address", ({ port }) => ({ port, host: "127.0.0.1" }), {}],
    ["another host name", ({ port }) => ({ port, host: "localhost", family: 4 }), {}],
    ["its socket", ({ socketPath }) => ({ path: socketPath }), {}],
    ["another database", ({ port }) => ({ port, db: 1 }), {}],
    ["another prefix", ({ port }) => ({ port }), { prefix: "other:" }],
  ];

  test.each(ways)(
    "makes acquire() reject at once, naming both nodes and the server: by %s",
    async (_, way, options) => {
      const [twice, once] = [await start(), await start()];
      const a = await nodeAt({ port: twice.port }, { name: "a" });
      const b = await nodeAt({ port: once.port }, { name: "b" });
      const c = await nodeAt(way(twice), { name: "c", ...options });
      const redlock = redlockOf([a, b, c]);
      const runId = /run_id:(\w+)/.exec(String(await twice.command("INFO", "server")))?.[1];
      // The first attempt may be won by the other two before c knows what its server is.
      await redlock.using("r", () => {}).catch(() => {});
      for (let round = 0; round < 3; round++) {
        const { message } = await rejectionOf(redlock);
        expect(message).toContain("c failed: it is the same server as a (run_id");
        expect(message).toContain(`(run_id ${runId}): each may vote once, whatever its address and database`);
      }
      await eventually(async () => expect((await b.inspect("r")).owner).toBeNull());
      await eventually(async () => expect((await a.inspect("r")).owner).toBeNull());
      await eventually(async () => expect((await c.inspect("r")).owner).toBeNull());
    },
  );

  test("is found where one of the nodes was used before, in another Redlock", async () => {
    const { port } = await start();
    const [a, b] = [await nodeAt({ port }, { name: "a" }), await nodeAt({ port, db: 1 }, { name: "b" })];
    for (const node of [a, b]) await (await redlockOf([node]).acquire("r")).release();
    expect((await rejectionOf(redlockOf([a, b]))).message).toContain("b failed: it is the same server as a");
    // Each of them is as good as before where it stands alone.
    for (const node of [a, b]) await (await redlockOf([node]).acquire("r")).release();
  });

  test("is no mistake in two of them", async () => {
    const { port } = await start();
    const redlocks = await Promise.all(["a", "b"].map(async (name) => redlockOf([await nodeAt({ port }, { name })])));
    await Promise.all(redlocks.map(async (redlock) => (await redlock.acquire("r")).release()));
  });

  test("is not looked for without the permission +info, or with verifyServer: false", async () => {
    const server = await start();
    await allow(server, [...(await documentedPermissions()), "+select"]);
    const login = { port: server.port, ...user };
    const unasked = [await nodeAt(login, { name: "a" }), await nodeAt({ ...login, db: 1 }, { name: "b" })];
    await (await redlockOf(unasked).acquire("r")).release();
    const off = { verifyServer: false };
    const unverified = ["a", "b"].map((name) => nodeAt({ port: server.port }, { ...off, name, prefix: `${name}:` }));
    await (await redlockOf(await Promise.all(unverified)).acquire("r")).release();
  });
});

describe("a replica in a Redlock", { timeout: 30_000 }, () => {
  test.each(["yes", "no"])("makes acquire() reject at once, replica-read-only %s", async (readOnly) => {
    const master = await start();
    const replicaOf = ["--replicaof", "127.0.0.1", String(master.port), "--replica-read-only", readOnly];
    const replica = await start({ args: replicaOf });
    const ports = [master.port, replica.port, (await start()).port];
    const nodes = ports.map((port, index) => nodeAt({ port }, { name: `node ${index + 1}` }));
    const redlock = redlockOf(await Promise.all(nodes));
    await redlock.using("r", () => {}).catch(() => {});
    const { message } = await rejectionOf(redlock);
    expect(message).toContain("node 2 failed: the server is a replica: only independent masters may vote");
  });

  test("that was a master before is asked again after the connection was lost, and is one node that fails", async () => {
    const [master, demoted] = [await start(), await start()];
    const client = new Redis(demoted.port);
    onTestFinished(() => client.disconnect());
    let isReady = true;
    const node = redisNode({ ...connectionOver(client), isReady: () => isReady });
    await node.acquire(acquireRequest("alice"));
    const request = acquireRequest("bob", { resources: ["s"] });
    await demoted.command("REPLICAOF", "127.0.0.1", master.port);
    await expect(node.acquire(request)).rejects.toThrow("READONLY");
    isReady = false;
    await expect(node.acquire(request)).rejects.toThrow("the client is not connected");
    isReady = true;
    const refused = node.acquire(request);
    await expect(refused).rejects.toThrow("the server is a replica");
    await expect(refused).rejects.not.toBeInstanceOf(ConfigurationError);
    await demoted.command("REPLICAOF", "NO", "ONE");
    await eventually(async () => expect(await node.acquire(request)).toMatchObject({ granted: true }));
  });
});

describe("acquire() while the server is asked who it is", { timeout: 30_000 }, () => {
  test("is not sent when its owner has released it meanwhile, or when its time is up", async () => {
    const server = await start();
    const node = await nodeAt({ port: server.port }, {});
    server.pause();
    const acquired = node.acquire(acquireRequest("alice", { timeoutMs: longMs }));
    const late = node.acquire(acquireRequest("carol", { timeoutMs: 1 }));
    const released = node.release(releaseRequest("alice"));
    ignore(acquired);
    ignore(late);
    await new Promise((resolve) => setTimeout(resolve, 20));
    server.resume();
    const expected = "time was up before it was known which server it would go to";
    await expect(acquired).rejects.toThrow(expected);
    await expect(late).rejects.toThrow(expected);
    await released;
    expect(await server.command("KEYS", "*")).toEqual([]);
  });

  test("asks once, in the same round trip that loads the script", async () => {
    const server = await start();
    const node = await nodeAt({ port: server.port }, {});
    await Promise.all([1, 2, 3].map((i) => node.acquire(acquireRequest(`owner ${i}`, { resources: [`r${i}`] }))));
    await node.acquire(acquireRequest("alice"));
    const stats = String(await server.command("INFO", "commandstats"));
    expect(stats).toMatch(/cmdstat_eval:calls=1,/);
    expect(stats).toMatch(/cmdstat_evalsha:calls=4,/);
  });
});

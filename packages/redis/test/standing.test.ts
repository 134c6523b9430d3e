import { setImmediate } from "node:timers/promises";
import { ConfigurationError, Redlock } from "@holdfast/core";
import { type RedisServer, type RedisServerOptions, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { type RedisConnection, type RedisNode, type RedisNodeOptions, redisNode } from "../src/index.ts";
import { scriptSource } from "../src/script.ts";
import { connectionOver } from "./connection.ts";
import { allow, documentedPermissions, user } from "./permissions.ts";
import { acquireRequest } from "./requests.ts";
import { eventually } from "./timing.ts";

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
  const error: unknown = await redlock.using("r", () => {}).catch((reason: unknown) => reason);
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
      // The first attempts may be won by the other two before c knows what its server is.
      await eventually(() => rejectionOf(redlock));
      for (let round = 0; round < 3; round++) {
        const { message } = await rejectionOf(redlock);
        expect(message).toMatch(/c failed: it is the same server as a|a failed: it is the same server as c/);
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

  test("is found for each of several calls that use the nodes first, in whatever order the answers come", async () => {
    const { port } = await start();
    const nodes = [await nodeAt({ port }, { name: "a" }), await nodeAt({ port, db: 1 }, { name: "b" })];
    const redlock = redlockOf(nodes);
    const calls = ["r", "s", "t"].map((resource) => redlock.acquire(resource).catch((reason: unknown) => reason));
    for (const error of await Promise.all(calls)) expect(error).toBeInstanceOf(ConfigurationError);
  });

  test("is found where the answer about one of them comes after the other was used for another lock", async () => {
    const { port } = await start();
    const a = await nodeAt({ port }, { name: "a" });
    const lone = redlockOf([a]);
    await lone.using("s", () => {});
    const client = new Redis(port, { db: 1 });
    onTestFinished(() => client.disconnect());
    await client.ping();
    const connection = connectionOver(client);
    const c = redisNode(
      {
        ...connection,
        async runScript(...command) {
          const reply = await connection.runScript(...command);
          if (command[0] === "EVAL") await lone.using("s", () => {});
          return reply;
        },
      },
      { name: "c" },
    );
    expect((await rejectionOf(redlockOf([a, c]))).message).toContain("c failed: it is the same server as a");
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

describe("a node that was refused", { timeout: 30_000 }, () => {
  /** Three nodes, the second on a replica, which has been refused. */
  async function refused(): Promise<{ redlock: Redlock; replica: RedisServer }> {
    const [master, other] = [await start(), await start()];
    const replica = await start({ args: ["--replicaof", "127.0.0.1", String(master.port)] });
    const nodes = [master, replica, other].map(({ port }, index) => nodeAt({ port }, { name: `node ${index + 1}` }));
    const redlock = new Redlock(await Promise.all(nodes), { waitTimeoutMs: 20_000, nodeTimeoutMs: 300 });
    await eventually(async () => expect((await rejectionOf(redlock)).message).toContain("node 2 failed"));
    return { redlock, replica };
  }

  test("is one that fails when its server is gone, and is judged afresh when it is back", async () => {
    const { redlock, replica } = await refused();
    await replica.kill();
    for (let round = 0; round < 3; round++) {
      await eventually(async () => (await redlock.acquire("r")).release());
    }
    await replica.restart();
    await eventually(async () => expect((await rejectionOf(redlock)).message).toContain("node 2 failed"));
    await replica.command("REPLICAOF", "NO", "ONE");
    await eventually(async () => (await redlock.acquire("r")).release());
  });

  test("is one that fails when its server hangs", async () => {
    const { redlock, replica } = await refused();
    replica.pause();
    await eventually(async () => (await redlock.acquire("r")).release());
    replica.resume();
    await eventually(async () => expect((await rejectionOf(redlock)).message).toContain("node 2 failed"));
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
    const { message } = await eventually(() => rejectionOf(redlock));
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

describe("the question who the server is", { timeout: 30_000 }, () => {
  type RunScript = RedisConnection["runScript"];

  /** A node whose commands go through `intercept`, and what it has sent. */
  async function nodeThrough(intercept: (send: () => Promise<unknown>, ...command: Parameters<RunScript>) => unknown) {
    const server = await start();
    const client = new Redis(server.port);
    onTestFinished(() => client.disconnect());
    await client.ping();
    const connection = connectionOver(client);
    const sent: string[] = [];
    const runScript: RunScript = async (...command) => {
      sent.push(command[0]);
      return intercept(() => connection.runScript(...command), ...command);
    };
    return { server, sent, node: redisNode({ ...connection, runScript }) };
  }

  test("goes ahead of the first claim, which does not wait for the answer, and brings it the script", async () => {
    const { server, sent, node } = await nodeThrough((send) => send());
    server.pause();
    const acquired = node.acquire(acquireRequest("alice"));
    await setImmediate();
    expect(sent).toEqual(["EVAL", "EVALSHA"]);
    server.resume();
    expect(await acquired).toMatchObject({ granted: true });
    expect(sent).toEqual(["EVAL", "EVALSHA"]);
  });

  test("is put once, however many claims are made meanwhile", async () => {
    const { sent, node } = await nodeThrough((send) => send());
    await Promise.all([1, 2, 3].map((i) => node.acquire(acquireRequest(`owner ${i}`, { resources: [`r${i}`] }))));
    await node.acquire(acquireRequest("alice"));
    // The claims of one tick share a call.
    expect(sent).toEqual(["EVAL", "EVALSHA", "EVALSHA"]);
  });

  test("holds up no vote when it fails, and is put again", async () => {
    let failures = 1;
    const { sent, node } = await nodeThrough((send, command) => {
      if (command === "EVAL" && failures-- > 0) throw new Error("lost");
      return send();
    });
    expect(await node.acquire(acquireRequest("alice"))).toMatchObject({ granted: true });
    await node.acquire(acquireRequest("bob"));
    await node.acquire(acquireRequest("bob"));
    expect(sent).toEqual(["EVAL", "EVALSHA", "EVAL", "EVAL", "EVALSHA", "EVALSHA"]);
  });

  test("holds up no vote for longer than its time when it is never answered", async () => {
    const { server, node } = await nodeThrough((send, _command, _script, call) =>
      String(call.keysAndArguments()[call.keyCount]) === "q" ? new Promise(() => {}) : send(),
    );
    // Otherwise the claim would have to be sent twice in its time.
    await server.command("SCRIPT", "LOAD", scriptSource);
    expect(await node.acquire(acquireRequest("alice", { timeoutMs: 20 }))).toMatchObject({ granted: true });
  });

  test("undoes the grant of a server that turns out to be a replica, also where its answer comes last", async () => {
    const master = await start();
    const granted: unknown[] = [];
    const { server, node } = await nodeThrough(async (send, command) => {
      const reply = await send();
      if (command === "EVAL") await eventually(() => expect(granted).toHaveLength(1));
      else granted.push(reply);
      return reply;
    });
    await server.command("CONFIG", "SET", "replica-read-only", "no");
    await server.command("REPLICAOF", "127.0.0.1", String(master.port));
    expect((await rejectionOf(redlockOf([node]))).message).toContain("the server is a replica");
    expect(granted[0]).toMatchObject({ 1: 1 });
    await eventually(async () => expect(await server.command("EXISTS", "lock:r")).toBe(0));
  });
});

import { setImmediate } from "node:timers/promises";
import { type AcquireRequest, ConfigurationError, Redlock, type ServerVotes } from "@holdfast/core";
import { allow, documentedPermissions, user } from "@holdfast/redis-testkit/permissions";
import { acquireRequest } from "@holdfast/redis-testkit/requests";
import { eventually, ignore } from "@holdfast/redis-testkit/timing";
import { type RedisServer, type RedisServerOptions, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { commonScript } from "../src/generated/common-script.ts";
import { type RedisConnection, type RedisNode, type RedisNodeOptions, redisNode } from "../src/index.ts";
import { ServerCheck, type ServerIdentity } from "../src/server-check.ts";
import { connectionOver } from "./connection.ts";

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

/** Waits forever, so that only an immediate error lets a test pass. */
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
    "makes acquire() reject immediately, naming both nodes and the server: by %s",
    async (_, way, options) => {
      const [twice, once] = [await start(), await start()];
      const a = await nodeAt({ port: twice.port }, { name: "a" });
      const b = await nodeAt({ port: once.port }, { name: "b" });
      const c = await nodeAt(way(twice), { name: "c", ...options });
      const redlock = redlockOf([a, b, c]);
      const runId = /run_id:(\w+)/.exec(String(await twice.command("INFO", "server")))?.[1];
      for (let round = 0; round < 3; round++) {
        const { message } = await rejectionOf(redlock);
        expect(message).toMatch(/c failed: it is the same server as a|a failed: it is the same server as c/);
        expect(message).toContain(`(run_id ${runId}): a server may vote only once, whatever its address and database`);
      }
      await eventually(async () => expect((await b.inspect("r")).owner).toBeNull());
      await eventually(async () => expect((await a.inspect("r")).owner).toBeNull());
      await eventually(async () => expect((await c.inspect("r")).owner).toBeNull());
    },
  );

  test("is found if one of the nodes was used before, in another Redlock", async () => {
    const { port } = await start();
    const [a, b] = [await nodeAt({ port }, { name: "a" }), await nodeAt({ port, db: 1 }, { name: "b" })];
    for (const node of [a, b]) await (await redlockOf([node]).acquire("r")).release();
    expect((await rejectionOf(redlockOf([a, b]))).message).toContain("b failed: it is the same server as a");
    // Each node still works in a Redlock without the other.
    for (const node of [a, b]) await (await redlockOf([node]).acquire("r")).release();
  });

  test("is found by each of several concurrent first calls, in any order of replies", async () => {
    const { port } = await start();
    const nodes = [await nodeAt({ port }, { name: "a" }), await nodeAt({ port, db: 1 }, { name: "b" })];
    const redlock = redlockOf(nodes);
    const calls = ["r", "s", "t"].map((resource) => redlock.acquire(resource).catch((reason: unknown) => reason));
    for (const error of await Promise.all(calls)) expect(error).toBeInstanceOf(ConfigurationError);
  });

  test("is found if the reply about one node arrives after the other was used for another lock", async () => {
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

  test("is allowed in two Redlocks", async () => {
    const { port } = await start();
    const redlocks = await Promise.all(["a", "b"].map(async (name) => redlockOf([await nodeAt({ port }, { name })])));
    await Promise.all(redlocks.map(async (redlock) => (await redlock.acquire("r")).release()));
  });

  test("is not checked without the permission +info, or with verifyServer: false", async () => {
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

describe("the first lock of a Redlock", { timeout: 30_000 }, async () => {
  const masters = await Promise.all([startRedisServer(), startRedisServer()]);
  const replica = await startRedisServer({ args: ["--replicaof", "127.0.0.1", String(masters[0].port)] });
  afterAll(() => Promise.all([...masters, replica].map((server) => server.stop())));

  test.each([
    ["a server that is listed twice", () => [masters[0].port, masters[1].port, masters[0].port]],
    ["a replica", () => [masters[0].port, replica.port, masters[1].port]],
  ])("is never granted beside %s, and close() leaves nothing on the servers", async (_, ports) => {
    for (let round = 0; round < 15; round++) {
      const nodes = ports().map((port, index) => nodeAt({ port }, { name: `node ${index + 1}` }));
      const redlock = redlockOf(await Promise.all(nodes));
      await rejectionOf(redlock);
      await redlock.close();
      for (const master of masters) expect(await master.command("EXISTS", "lock:r")).toBe(0);
    }
  });

  test("is granted without the node whose server hangs, after its timeout", async () => {
    const hung = await start();
    const nodes = [masters[0], masters[1], hung].map(({ port }, index) =>
      nodeAt({ port }, { name: `node ${index + 1}` }),
    );
    const redlock = new Redlock(await Promise.all(nodes), { ttlMs: 20_000, waitTimeoutMs: 0 });
    hung.pause();
    await (await redlock.acquire("r")).release();
    hung.resume();
    await redlock.close();
  });
});

describe("a node that moves to another server", { timeout: 30_000 }, () => {
  /** Creates a node on the first of the servers, and a function that moves it. */
  async function movableNode(name: string, ...ports: readonly number[]) {
    const connections = await Promise.all(
      ports.map(async (port) => {
        const client = new Redis(port);
        onTestFinished(() => client.disconnect());
        await client.ping();
        return connectionOver(client);
      }),
    );
    let [current] = connections as [RedisConnection];
    let isReady = true;
    const node = redisNode({
      ...current,
      name,
      isReady: () => isReady,
      runScript: (...command) => current.runScript(...command),
    });
    const move = async (port: number): Promise<void> => {
      isReady = false;
      await expect(node.acquire(acquireRequest("alice"))).rejects.toThrow("not connected");
      isReady = true;
      current = connections[ports.indexOf(port)] as RedisConnection;
    };
    return { node, move };
  }

  test("is refused on the server of another node, and votes where no other node votes any longer", async () => {
    const [x, y, z, fourth] = await Promise.all([start(), start(), start(), start()]);
    const a = await movableNode("a", x.port, y.port, fourth.port);
    const b = await movableNode("b", y.port, x.port);
    const c = await movableNode("c", z.port);
    const redlock = redlockOf([a.node, b.node, c.node]);
    const lockAndRelease = () => redlock.using("r", () => {});
    await lockAndRelease();

    await a.move(y.port);
    // The other two may grant the first attempts before the reply arrives.
    await eventually(async () =>
      expect((await rejectionOf(redlock)).message).toContain("a failed: it is the same server as b"),
    );
    await a.move(x.port);
    await lockAndRelease();

    await a.move(fourth.port);
    await eventually(async () => {
      await lockAndRelease();
      expect(String(await fourth.command("INFO", "commandstats"))).toContain("cmdstat_evalsha");
    });
    await b.move(x.port);
    for (let round = 0; round < 3; round++) await lockAndRelease();
    await x.command("CONFIG", "RESETSTAT");
    await redlock.using("s", () => {});
    await eventually(async () => expect(String(await x.command("INFO", "commandstats"))).toContain("cmdstat_set:"));
  });
});

describe("a node that was refused", { timeout: 30_000 }, () => {
  /** Creates three nodes, of which the second was refused, as its server is a replica. */
  async function refused(): Promise<{ redlock: Redlock; replica: RedisServer }> {
    const [master, other] = [await start(), await start()];
    const replica = await start({ args: ["--replicaof", "127.0.0.1", String(master.port)] });
    const nodes = [master, replica, other].map(({ port }, index) => nodeAt({ port }, { name: `node ${index + 1}` }));
    const redlock = new Redlock(await Promise.all(nodes), { waitTimeoutMs: 20_000, nodeTimeoutMs: 300 });
    await eventually(async () => expect((await rejectionOf(redlock)).message).toContain("node 2 failed"));
    return { redlock, replica };
  }

  test("counts as failed while its server is down, and is checked again when it is back", async () => {
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

  test("counts as failed while its server hangs", async () => {
    const { redlock, replica } = await refused();
    replica.pause();
    await eventually(async () => (await redlock.acquire("r")).release());
    replica.resume();
    await eventually(async () => expect((await rejectionOf(redlock)).message).toContain("node 2 failed"));
  });
});

describe("a replica in a Redlock", { timeout: 30_000 }, () => {
  test.each(["yes", "no"])("makes acquire() reject immediately, replica-read-only %s", async (readOnly) => {
    const master = await start();
    const replicaOf = ["--replicaof", "127.0.0.1", String(master.port), "--replica-read-only", readOnly];
    const replica = await start({ args: replicaOf });
    const ports = [master.port, replica.port, (await start()).port];
    const nodes = ports.map((port, index) => nodeAt({ port }, { name: `node ${index + 1}` }));
    const redlock = redlockOf(await Promise.all(nodes));
    const { message } = await rejectionOf(redlock);
    expect(message).toContain("node 2 failed: the server is a replica: only independent masters may vote");
  });

  test("that was a master is checked again after a reconnection, and counts as one failed node", async () => {
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

describe("the identification of the server", { timeout: 30_000 }, () => {
  type RunScript = RedisConnection["runScript"];

  /** Creates a node whose commands go through `intercept`, and records what it sends. */
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

  test("is sent before the first claim, which does not wait for the reply, and loads the script", async () => {
    const { server, sent, node } = await nodeThrough((send) => send());
    server.pause();
    const acquired = node.acquire(acquireRequest("alice"));
    await setImmediate();
    expect(sent).toEqual(["EVAL", "EVALSHA"]);
    server.resume();
    expect(await acquired).toMatchObject({ granted: true });
    expect(sent).toEqual(["EVAL", "EVALSHA"]);
  });

  test("is sent once, however many claims follow before the reply", async () => {
    const { sent, node } = await nodeThrough((send) => send());
    await Promise.all([1, 2, 3].map((i) => node.acquire(acquireRequest(`owner ${i}`, { resources: [`r${i}`] }))));
    await node.acquire(acquireRequest("alice"));
    // Claims of one tick share a call.
    expect(sent).toEqual(["EVAL", "EVALSHA", "EVALSHA"]);
  });

  test("delays no vote if it fails, and is sent again", async () => {
    let failures = 1;
    const { sent, node } = await nodeThrough((send, command) => {
      if (command === "EVAL" && failures-- > 0) throw new Error("lost");
      return send();
    });
    expect(await node.acquire(acquireRequest("alice"))).toMatchObject({ granted: true });
    await node.acquire(acquireRequest("bob", { resources: ["s"] }));
    await node.acquire(acquireRequest("carol", { resources: ["t"] }));
    expect(sent).toEqual(["EVAL", "EVALSHA", "EVAL", "EVAL", "EVALSHA", "EVALSHA"]);
  });

  test("delays votes no longer than its timeout if it is never answered", async () => {
    const { server, node } = await nodeThrough((send, _command, _script, call) =>
      call.keysAndArguments().includes("identify") ? new Promise(() => {}) : send(),
    );
    // Otherwise the claim would have to be sent twice before its timeout.
    await server.command("SCRIPT", "LOAD", commonScript.source);
    expect(await node.acquire(acquireRequest("alice", { timeoutMs: 20 }))).toMatchObject({ granted: true });
  });

  test("undoes the grant of a server that turns out to be a replica, even if its reply arrives last", async () => {
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
    expect(granted[0]).toMatchObject({ 1: expect.any(Number) });
    await eventually(async () => expect(await server.command("EXISTS", "lock:r")).toBe(0));
  });
});

describe("ServerCheck", () => {
  const started: AcquireRequest = acquireRequest("alice");

  /** Creates a node whose server has the identity `is`. */
  function checkOf(name: string, runId: string | undefined, isReplica = false) {
    const is = { runId, isReplica };
    const asked: AcquireRequest[] = [];
    const check = new ServerCheck(name, async (request) => {
      asked.push(request);
      return { ...is };
    });
    return { check, is, asked };
  }

  /** Returns "yes" if the node may vote for an instantaneous claim, or the reason why not. */
  async function vote(check: ServerCheck, servers?: ServerVotes): Promise<string> {
    const request = servers === undefined ? started : { ...started, servers };
    try {
      if (check.begin(request)) await check.verify(request, Promise.resolve("granted"));
      return "yes";
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Waits until the clock has advanced. */
  async function moment(): Promise<void> {
    for (const startMs = performance.now(); performance.now() <= startMs; ) await setImmediate();
  }

  /** Moves a node to another server, and identifies it again. */
  async function move(node: ReturnType<typeof checkOf>, runId: string, servers: ServerVotes): Promise<void> {
    node.is.runId = runId;
    node.check.invalidate();
    await moment();
    expect(await vote(node.check, servers)).toBe("yes");
    await moment();
  }

  const sameAs = (name: string, runId: string) =>
    expect.stringContaining(`it is the same server as ${name} (run_id ${runId})`);

  test("lets only the first node vote on each run of a server", async () => {
    const servers: ServerVotes = new Map();
    const [a, b, c] = [checkOf("a", "1"), checkOf("b", "1"), checkOf("c", "2")] as const;
    expect(await vote(a.check, servers)).toBe("yes");
    expect(await vote(b.check, servers)).toEqual(sameAs("a", "1"));
    expect(await vote(c.check, servers)).toBe("yes");
    expect(await vote(a.check, servers)).toBe("yes");
    expect(await vote(b.check, servers)).toEqual(sameAs("a", "1"));
    expect([...servers]).toEqual([
      ["1", { node: "a" }],
      ["2", { node: "c" }],
    ]);
  });

  test("rejects a claim in time if its node turns out to be on the server of another", async () => {
    const servers: ServerVotes = new Map();
    expect(await vote(checkOf("a", "1").check, servers)).toBe("yes");
    let tell!: (identity: ServerIdentity) => void;
    const check = new ServerCheck("b", () => new Promise((resolve) => (tell = resolve)));
    const request = { ...started, servers };
    expect(check.begin(request)).toBe(true);
    const verified = check.verify(request, Promise.resolve("granted"));
    tell({ runId: "1", isReplica: false });
    await expect(verified).rejects.toBeInstanceOf(ConfigurationError);
  });

  test("frees the former server of a node for claims that start later, not for earlier ones", async () => {
    const servers: ServerVotes = new Map();
    const [a, b] = [checkOf("a", "1"), checkOf("b", "1")];
    expect(await vote(a.check, servers)).toBe("yes");
    const request = { ...started, servers };
    expect(b.check.begin(request)).toBe(true);
    let grant!: (reply: string) => void;
    const early = b.check.verify(request, new Promise((resolve) => (grant = resolve)));
    ignore(early);

    await move(a, "2", servers);
    grant("granted");
    const error: unknown = await early.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: "it is the server that a has just left (run_id 1)" });
    expect(error, "trying again helps").not.toBeInstanceOf(ConfigurationError);
    expect(await vote(b.check, servers)).toBe("yes");
    expect(Object.fromEntries(servers)).toEqual({ 1: { node: "b" }, 2: { node: "a" } });
  });

  test("lets two nodes that have swapped servers vote again", async () => {
    const servers: ServerVotes = new Map();
    const [a, b] = [checkOf("a", "1"), checkOf("b", "2")];
    for (const { check } of [a, b]) expect(await vote(check, servers)).toBe("yes");
    a.is.runId = "2";
    b.is.runId = "1";
    for (const { check } of [a, b]) check.invalidate();
    await moment();
    for (const { check } of [a, b]) expect(await vote(check, servers)).toBe("yes");
  });

  test("lets a node vote on the server of another node that has lost its connection", async () => {
    const servers: ServerVotes = new Map();
    const [a, b] = [checkOf("a", "1"), checkOf("b", "2")];
    for (const { check } of [a, b]) expect(await vote(check, servers)).toBe("yes");
    for (const { check } of [a, b]) check.invalidate();
    await moment();
    b.is.runId = "1";
    expect(await vote(b.check, servers)).toBe("yes");
    expect(await vote(a.check, servers)).toEqual(sameAs("b", "1"));
  });

  test("keeps the vote of a node in one Redlock when it is refused in another", async () => {
    const [one, other]: [ServerVotes, ServerVotes] = [new Map(), new Map()];
    const [a, b] = [checkOf("a", "1"), checkOf("b", "1")];
    expect(await vote(a.check, one)).toBe("yes");
    expect(await vote(b.check, other)).toBe("yes");
    expect(await vote(b.check, one)).toEqual(sameAs("a", "1"));
    await moment();
    expect(await vote(a.check, other)).toEqual(sameAs("b", "1"));
  });

  test("lets a node return to its former server, unless another node votes there", async () => {
    const servers: ServerVotes = new Map();
    const [a, b] = [checkOf("a", "1"), checkOf("b", "1")];
    expect(await vote(a.check, servers)).toBe("yes");
    await move(a, "2", servers);
    await move(a, "1", servers);
    expect(await vote(b.check, servers)).toEqual(sameAs("a", "1"));
    await move(a, "2", servers);
    expect(await vote(b.check, servers)).toBe("yes");
    a.is.runId = "1";
    a.check.invalidate();
    expect(await vote(a.check, servers)).toEqual(sameAs("b", "1"));
  });

  test("forgets a server an hour after its node has left it", async () => {
    const hourMs = 3_600_000;
    const servers: ServerVotes = new Map([
      ["long ago", { node: "a", leftAtMs: performance.now() - hourMs - 1_000 }],
      ["lately", { node: "a", leftAtMs: performance.now() - hourMs + 60_000 }],
    ]);
    expect(await vote(checkOf("a", "now").check, servers)).toBe("yes");
    expect([...servers.keys()]).toEqual(["lately", "now"]);
  });

  test("judges a node separately for each Redlock", async () => {
    const [one, other]: [ServerVotes, ServerVotes] = [new Map(), new Map()];
    const [a, b] = [checkOf("a", "1"), checkOf("b", "1")];
    expect(await vote(a.check, one)).toBe("yes");
    expect(await vote(b.check, other)).toBe("yes");
    for (let round = 0; round < 3; round++) {
      expect(await vote(b.check, one)).toEqual(sameAs("a", "1"));
      expect(await vote(a.check, other)).toEqual(sameAs("b", "1"));
      expect(await vote(a.check, one)).toBe("yes");
      expect(await vote(b.check, other)).toBe("yes");
    }
    await move(a, "2", one);
    expect(await vote(b.check, one)).toBe("yes");
    expect(await vote(a.check, other)).toBe("yes");
  });

  test("rejects only replicas for requests without servers", async () => {
    const [a, b, replica] = [checkOf("a", "1"), checkOf("b", "1"), checkOf("c", "1", true)] as const;
    for (let round = 0; round < 2; round++) {
      expect(await vote(a.check)).toBe("yes");
      expect(await vote(b.check)).toBe("yes");
      expect(await vote(replica.check)).toContain("the server is a replica");
    }
    expect(await vote(a.check, new Map())).toBe("yes");
  });

  test("does not identify a server without a run id", async () => {
    const servers: ServerVotes = new Map();
    for (const name of ["a", "b"]) expect(await vote(checkOf(name, undefined).check, servers)).toBe("yes");
    expect(servers.size).toBe(0);
  });

  test("asks once, and again after a refusal, without the refused claim", async () => {
    const { check, is, asked } = checkOf("a", "1", true);
    for (const _ of [1, 2]) expect(check.begin(started)).toBe(true);
    await moment();
    expect(asked).toHaveLength(1);
    expect(() => check.begin(started)).toThrow(ConfigurationError);
    is.isReplica = false;
    await moment();
    expect(asked).toHaveLength(2);
    expect(() => check.begin(started)).toThrow("the server is a replica");
    await moment();
    expect(check.begin(started)).toBe(false);
    expect(asked).toHaveLength(3);
  });

  test("drops a reply that arrives after invalidate(), as it concerns the previous connection", async () => {
    const answers: ((identity: ServerIdentity) => void)[] = [];
    const check = new ServerCheck("a", () => new Promise((resolve) => answers.push(resolve)));
    check.begin(started);
    check.invalidate();
    check.begin(started);
    answers[0]?.({ runId: "1", isReplica: true });
    await moment();
    expect(check.begin(started)).toBe(true);
    answers[1]?.({ runId: "1", isReplica: false });
    await moment();
    expect(check.begin(started)).toBe(false);
    expect(answers).toHaveLength(2);
  });
});

import { setImmediate } from "node:timers/promises";
import { ConfigurationError, Redlock } from "@holdfast/core";
import type { ServerVotes } from "@holdfast/core/node";
import { allow, documentedPermissions, user } from "@holdfast/redis-testkit/permissions";
import { acquireRequest } from "@holdfast/redis-testkit/requests";
import { eventually } from "@holdfast/redis-testkit/timing";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import type { RedisOptions } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { type RedisNode, type RedisNodeOptions, redisNode } from "../src/index.ts";
import { clientOf, connectionOver, serverForTest } from "./connection.ts";

const masters = await Promise.all([startRedisServer(), startRedisServer()]);
afterAll(() => Promise.all(masters.map((server) => server.stop())));

type Address = Pick<RedisOptions, "host" | "port" | "family" | "path" | "db" | "username" | "password">;

async function nodeAt(address: Address, options: RedisNodeOptions = {}): Promise<RedisNode> {
  return redisNode(connectionOver(await clientOf({ port: 0 }, { ...address, retryStrategy: () => 5 })), options);
}

/** Creates nodes on servers, named by their positions. */
function nodesOn(...servers: readonly RedisServer[]): Promise<RedisNode[]> {
  return Promise.all(servers.map(({ port }, index) => nodeAt({ port }, { name: `node ${index + 1}` })));
}

function replicaOf({ port }: RedisServer, ...args: readonly string[]): Promise<RedisServer> {
  return serverForTest({ args: ["--replicaof", "127.0.0.1", String(port), ...args] });
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
      const [twice] = masters;
      const [a, b] = await nodesOn(...masters);
      const c = await nodeAt(way(twice), { name: "c", ...options });
      const redlock = redlockOf([a, b, c] as RedisNode[]);
      const runId = /run_id:(\w+)/.exec(String(await twice.command("INFO", "server")))?.[1];
      for (let round = 0; round < 3; round++) {
        const { message } = await rejectionOf(redlock);
        expect(message).toMatch(/c failed: it is the same server as node 1|node 1 failed: it is the same server as c/);
        expect(message).toContain(`(run_id ${runId}): a server may vote only once, whatever its address and database`);
      }
      await eventually(async () => {
        for (const node of [a, b, c]) expect((await node?.inspect("r"))?.owner).toBeNull();
      });
    },
  );

  test("is found by each of several concurrent first calls, in any order of replies", async () => {
    const { port } = masters[0];
    const redlock = redlockOf([await nodeAt({ port }, { name: "a" }), await nodeAt({ port, db: 1 }, { name: "b" })]);
    const calls = ["r", "s", "t"].map((resource) => redlock.acquire(resource).catch((reason: unknown) => reason));
    for (const error of await Promise.all(calls)) expect(error).toBeInstanceOf(ConfigurationError);
    await redlock.close();
  });

  test("is not checked without the permission +info, or with verifyServer: false", async () => {
    const server = await serverForTest();
    await allow(server, [...(await documentedPermissions()), "+select"]);
    const login = { port: server.port, ...user };
    const unasked = [await nodeAt(login, { name: "a" }), await nodeAt({ ...login, db: 1 }, { name: "b" })];
    await (await redlockOf(unasked).acquire("r")).release();
    const off = { verifyServer: false };
    const unverified = ["a", "b"].map((name) => nodeAt({ port: server.port }, { ...off, name, prefix: `${name}:` }));
    await (await redlockOf(await Promise.all(unverified)).acquire("r")).release();
  });
});

test.each<[string, () => Promise<RedisServer[]>]>([
  ["a server that is listed twice", async () => [masters[0], masters[1], masters[0]]],
  ["a replica", async () => [masters[0], await replicaOf(masters[0]), masters[1]]],
])(
  "the first lock of a Redlock is never granted beside %s, and close() leaves nothing on the servers",
  async (_, start) => {
    const servers = await start();
    for (let round = 0; round < 15; round++) {
      const redlock = redlockOf(await nodesOn(...servers));
      await rejectionOf(redlock);
      await redlock.close();
      for (const master of masters) expect(await master.command("EXISTS", "lock:r")).toBe(0);
    }
  },
);

describe("a replica in a Redlock", { timeout: 30_000 }, () => {
  test.each(["yes", "no"])("makes acquire() reject immediately, replica-read-only %s", async (readOnly) => {
    const replica = await replicaOf(masters[0], "--replica-read-only", readOnly);
    const { message } = await rejectionOf(redlockOf(await nodesOn(masters[0], replica, masters[1])));
    expect(message).toContain("node 2 failed: the server is a replica: only independent masters may vote");
  });

  test("counts as failed while it hangs, and is checked again afterwards", async () => {
    const replica = await replicaOf(masters[0]);
    const nodes = await nodesOn(masters[0], replica, masters[1]);
    const redlock = new Redlock(nodes, { waitTimeoutMs: 20_000, nodeTimeoutMs: 300 });
    const isRefused = async () => expect((await rejectionOf(redlock)).message).toContain("node 2 failed");
    await eventually(isRefused);
    replica.pause();
    await eventually(async () => (await redlock.acquire("r")).release());
    replica.resume();
    await eventually(isRefused);
    await replica.command("REPLICAOF", "NO", "ONE");
    await eventually(async () => (await redlock.acquire("r")).release());
  });

  test("that was a master is checked again after a reconnection, and counts as one failed node", async () => {
    const [master, demoted] = [masters[0], await serverForTest()];
    let isReady = true;
    const node = redisNode({ ...connectionOver(await clientOf(demoted)), isReady: () => isReady });
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

  test("has its grant undone if it turns out to be one, even if its reply arrives last", async () => {
    const replica = await replicaOf(masters[0], "--replica-read-only", "no");
    const connection = connectionOver(await clientOf(replica));
    const granted: unknown[] = [];
    const node = redisNode({
      ...connection,
      async runScript(...command) {
        const reply = await connection.runScript(...command);
        if (command[0] === "EVAL") await eventually(() => expect(granted).toHaveLength(1));
        else granted.push(reply);
        return reply;
      },
    });
    expect((await rejectionOf(redlockOf([node]))).message).toContain("the server is a replica");
    expect(granted[0]).toMatchObject({ 1: expect.any(Number) });
    await eventually(async () => expect(await replica.command("EXISTS", "lock:r")).toBe(0));
  });
});

/** A node over a server that grants everything, of which only the identity matters. */
interface Identified {
  readonly node: RedisNode;
  /** The present answer to the question who the server is, which may be late, and whether the client is connected. */
  readonly server: { runId: string; role: string; identify(): Promise<void>; grant(): Promise<void>; isReady: boolean };
  /** The commands that were sent: EVAL asks for the identity. */
  readonly sent: string[];
}

function identified(name: string, runId: string, role = "master"): Identified {
  const server = { runId, role, identify: async () => {}, grant: async () => {}, isReady: true };
  const sent: string[] = [];
  const node = redisNode({
    name,
    isCluster: false,
    isReady: () => server.isReady,
    async runScript(command, _script, call) {
      sent.push(command);
      const { runId, role } = server;
      const [callId, marks] = call.keysAndArguments().slice(call.keyCount).map(String);
      const isQuestion = marks === "i";
      await (isQuestion ? server.identify() : server.grant());
      return [Number(callId), ...[...String(marks)].map(() => (isQuestion ? [runId, role] : 7))];
    },
  });
  return { node, server, sent };
}

function claim({ node }: Identified, servers?: ServerVotes, resource = "r"): Promise<unknown> {
  return node.acquire(acquireRequest("alice", { resources: [resource], timeoutMs: 500, ...(servers && { servers }) }));
}

/** Returns "yes" if the node may vote, or the reason why not. */
function vote(node: Identified, servers?: ServerVotes): Promise<string> {
  return claim(node, servers).then(
    () => "yes",
    ({ message }: Error) => message,
  );
}

/** Waits until the clock has advanced, and answers have arrived. */
async function moment(): Promise<void> {
  const startMs = performance.now();
  do await setImmediate();
  while (performance.now() <= startMs);
}

/** Lets the node notice that its connection is lost and restored. */
async function reconnect({ node, server }: Identified): Promise<void> {
  server.isReady = false;
  await expect(node.inspect("r")).rejects.toThrow("the client is not connected");
  server.isReady = true;
}

/** Moves a node to another server, and identifies it again. */
async function move(node: Identified, runId: string, servers: ServerVotes): Promise<void> {
  node.server.runId = runId;
  await reconnect(node);
  await moment();
  expect(await vote(node, servers)).toBe("yes");
  await moment();
}

/** Returns a promise, and what resolves it. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const isReplica = expect.stringContaining("the server is a replica");
const sameAs = (name: string, runId: string) =>
  expect.stringContaining(`it is the same server as ${name} (run_id ${runId})`);

describe("the identification of the server", () => {
  test("is sent before the first claim, which does not wait for the reply", async () => {
    const node = identified("a", "1");
    const { opened, open } = gate();
    node.server.identify = () => opened;
    const claimed = claim(node);
    await moment();
    expect(node.sent).toEqual(["EVAL", "EVALSHA"]);
    open();
    expect(await claimed).toEqual({ granted: true, fence: 7 });
    expect(node.sent).toEqual(["EVAL", "EVALSHA"]);
  });

  test("is sent once, however many claims follow before the reply", async () => {
    const node = identified("a", "1");
    await Promise.all(["r", "s", "t"].map((resource) => claim(node, undefined, resource)));
    await claim(node);
    // Claims of one tick share a call.
    expect(node.sent).toEqual(["EVAL", "EVALSHA", "EVALSHA"]);
  });

  test("delays no vote if it fails, and is sent again", async () => {
    const node = identified("a", "1");
    node.server.identify = () => Promise.reject(new Error("lost"));
    expect(await vote(node)).toBe("yes");
    node.server.identify = async () => {};
    for (const _ of [1, 2]) expect(await vote(node)).toBe("yes");
    expect(node.sent).toEqual(["EVAL", "EVALSHA", "EVAL", "EVALSHA", "EVALSHA"]);
  });

  test("delays votes no longer than its timeout if it is never answered", async () => {
    const node = identified("a", "1");
    node.server.identify = () => new Promise(() => {});
    expect(await vote(node)).toBe("yes");
  });

  test("is repeated with each claim on a replica, which counts once the replica is promoted", async () => {
    const node = identified("a", "1", "slave");
    expect(await Promise.all([vote(node), vote(node)])).toEqual([isReplica, isReplica]);
    await moment();
    node.sent.length = 0;
    expect(await vote(node)).toEqual(isReplica);
    expect(node.sent).toEqual(["EVAL", "EVALSHA"]);
    node.server.role = "master";
    expect(await vote(node)).toBe("yes");
    expect(await vote(node)).toBe("yes");
    expect(node.sent).toEqual(["EVAL", "EVALSHA", "EVAL", "EVALSHA", "EVALSHA"]);
  });

  test("does not count if the answer arrives after a reconnection, as it concerns the previous connection", async () => {
    const node = identified("a", "1", "slave");
    const [first, second] = [gate(), gate()];
    node.server.identify = () => first.opened;
    const lost = vote(node);
    await moment();
    await reconnect(node);
    Object.assign(node.server, { role: "master", identify: () => second.opened });
    let isSettled = false;
    const voting = vote(node).finally(() => {
      isSettled = true;
    });
    first.open();
    await lost;
    await moment();
    expect(isSettled).toBe(false);
    second.open();
    expect(await voting).toBe("yes");
    expect(node.sent.filter((command) => command === "EVAL")).toHaveLength(2);
  });
});

describe("a node", () => {
  test("rejects a claim in time if it turns out to be on the server of another, which votes elsewhere meanwhile", async () => {
    const servers: ServerVotes = new Map();
    const [a, b] = [identified("a", "1"), identified("b", "1")];
    expect(await vote(a, servers)).toBe("yes");
    const { opened, open } = gate();
    b.server.identify = () => opened;
    const claimed = claim(b, servers);
    expect(await vote(a, new Map())).toBe("yes");
    open();
    await expect(claimed).rejects.toBeInstanceOf(ConfigurationError);
  });

  test("votes again after it has swapped servers with another", async () => {
    const servers: ServerVotes = new Map();
    const [a, b] = [identified("a", "1"), identified("b", "2")];
    for (const node of [a, b]) expect(await vote(node, servers)).toBe("yes");
    a.server.runId = "2";
    b.server.runId = "1";
    for (const node of [a, b]) await reconnect(node);
    await moment();
    for (const node of [a, b]) expect(await vote(node, servers)).toBe("yes");
  });

  test("votes on the server of another that has lost its connection", async () => {
    const servers: ServerVotes = new Map();
    const [a, b] = [identified("a", "1"), identified("b", "2")];
    for (const node of [a, b]) expect(await vote(node, servers)).toBe("yes");
    for (const node of [a, b]) await reconnect(node);
    await moment();
    b.server.runId = "1";
    expect(await vote(b, servers)).toBe("yes");
    expect(await vote(a, servers)).toEqual(sameAs("b", "1"));
  });

  test("returns to its former server, unless another node votes there", async () => {
    const servers: ServerVotes = new Map();
    const [a, b] = [identified("a", "1"), identified("b", "1")];
    expect(await vote(a, servers)).toBe("yes");
    await move(a, "2", servers);
    await move(a, "1", servers);
    expect(await vote(b, servers)).toEqual(sameAs("a", "1"));
    await move(a, "2", servers);
    expect(await vote(b, servers)).toBe("yes");
    a.server.runId = "1";
    await reconnect(a);
    expect(await vote(a, servers)).toEqual(sameAs("b", "1"));
  });

  test("is forgotten on a server an hour after it has left it", async () => {
    const hourMs = 3_600_000;
    const servers: ServerVotes = new Map([
      ["long ago", { node: "a", leftAtMs: performance.now() - hourMs - 1_000 }],
      ["lately", { node: "a", leftAtMs: performance.now() - hourMs + 60_000 }],
    ]);
    expect(await vote(identified("a", "now"), servers)).toBe("yes");
    expect([...servers.keys()]).toEqual(["lately", "run_id now"]);
  });

  test("is judged separately for each Redlock", async () => {
    const [one, other]: [ServerVotes, ServerVotes] = [new Map(), new Map()];
    const [a, b] = [identified("a", "1"), identified("b", "1")];
    expect(await vote(a, one)).toBe("yes");
    expect(await vote(b, other)).toBe("yes");
    for (let round = 0; round < 3; round++) {
      expect(await vote(b, one)).toEqual(sameAs("a", "1"));
      await moment();
      expect(await vote(a, other)).toEqual(sameAs("b", "1"));
      expect(await vote(a, one)).toBe("yes");
      expect(await vote(b, other)).toBe("yes");
    }
    await move(a, "2", one);
    expect(await vote(b, one)).toBe("yes");
    expect(await vote(a, other)).toBe("yes");
  });

  test("is refused only on a replica for requests without servers", async () => {
    const [a, b, replica] = [identified("a", "1"), identified("b", "1"), identified("c", "1", "slave")] as const;
    for (let round = 0; round < 2; round++) {
      expect(await vote(a)).toBe("yes");
      expect(await vote(b)).toBe("yes");
      expect(await vote(replica)).toEqual(isReplica);
    }
    expect(await vote(a, new Map())).toBe("yes");
  });

  test("votes on a server without a run id", async () => {
    const servers: ServerVotes = new Map();
    for (const name of ["a", "b"]) expect(await vote(identified(name, ""), servers)).toBe("yes");
    expect(servers.size).toBe(0);
  });
});

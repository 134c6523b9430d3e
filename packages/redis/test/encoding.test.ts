import { setImmediate as nextTurn } from "node:timers/promises";
import type { ServerVotes } from "@holdfast/core/node";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { ignore } from "@holdfast/redis-testkit/timing";
import { describe, expect, test } from "vitest";
import { commonScript } from "../src/generated/common-script.ts";
import { lockScript } from "../src/generated/lock-script.ts";
import {
  type RedisConnection,
  type RedisNode,
  type RedisNodeOptions,
  redisNode,
  type ScriptCall,
} from "../src/index.ts";

/** Returns nodes that were asked the same in one tick, and what they have sent. Nothing is answered. */
async function asked(nodeCount: number, ask: (node: RedisNode) => void, options: RedisNodeOptions = {}) {
  const calls: ScriptCall[] = [];
  const scripts: string[] = [];
  const runScript: RedisConnection["runScript"] = (_command, script, call) => {
    calls.push(call);
    scripts.push(script);
    return new Promise(() => {});
  };
  const nodes = Array.from({ length: nodeCount }, (_, index) =>
    redisNode(
      { name: `n${index}`, isCluster: false, isReady: () => true, runScript },
      { verifyServer: false, ...options },
    ),
  );
  for (const node of nodes) ask(node);
  await new Promise(process.nextTick);
  return { nodes: nodes as [RedisNode], calls: calls as [ScriptCall, ScriptCall], scripts };
}

/** Returns a frozen request, like core, which shares requests among nodes. */
function frozenRequest(owner: string, resources: string[]) {
  return Object.freeze(acquireRequest(owner, { resources: Object.freeze(resources) }));
}

/** Returns the bytes that a library would write for the words of a call. */
function written(command: string, script: string, call: ScriptCall): string {
  const words = [command, script, String(call.keyCount), ...call.keysAndArguments()];
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;
}

/** Returns the marks of the operations, the second argument of both scripts. */
function marksOf(call: ScriptCall): string {
  return String(call.keysAndArguments()[call.keyCount + 1]);
}

test("ScriptCall.encode() returns the words of keysAndArguments() as bulk strings, whatever an earlier call used", async () => {
  const { calls } = await asked(2, (node) => {
    ignore(node.acquire(acquireRequest("prüfer 🔒", { resources: ["{é}", "日本語"], waiter: "é" })));
    ignore(node.extend(extendRequest("bob", { ttlMs: 5_000 })));
    ignore(node.acquire(acquireRequest("carol", { takeover: "ß", ttlMs: 5_000 })));
    ignore(node.inspect("r"));
    ignore(node.release(releaseRequest("dave", ["\u0000", "r"])));
  });
  expect(calls.map(marksOf)).toEqual([".....", "....."]);
  const commands = [
    ["EVALSHA", "sha"],
    ["EVAL", "return 'é'"],
    ["EVAL", "return 1"],
    ["EVALSHA", "sha"],
  ] as const;
  for (const call of calls) {
    for (const [command, script] of commands) {
      expect(call.encode(command, script)).toEqual(written(command, script, call));
    }
  }
});

test("ScriptCall has another id than the call before it, so that the reply to that is not taken for its own", async () => {
  const { nodes, calls } = await asked(1, (node) => ignore(node.acquire(acquireRequest("alice"))));
  ignore(nodes[0].acquire(acquireRequest("bob")));
  await new Promise(process.nextTick);
  const [first, second] = calls.map((call) => call.keysAndArguments()[call.keyCount]);
  expect(second).toMatch(/^\d+$/);
  expect(second).not.toBe(first);
});

test("ScriptCall strikes out only the abandoned operation, and only for its node", async () => {
  const { calls, nodes } = await asked(2, () => {});
  // Core sends each request to all nodes.
  for (const request of [frozenRequest("alice", ["a", "b"]), frozenRequest("bob", ["c", "d"])]) {
    for (const { acquire } of nodes) ignore(acquire(request));
  }
  await new Promise(process.nextTick);
  const [first, second] = calls;
  expect(marksOf(first)).toBe("..");
  const whole = second.encode("EVALSHA", "sha");
  expect(first.encode("EVALSHA", "sha")).toBe(whole);

  ignore(nodes[0].release(releaseRequest("bob", ["c", "d"])));
  expect(marksOf(first)).toBe(".x");
  expect(first.encode("EVALSHA", "sha")).toBe(written("EVALSHA", "sha", first));
  expect(first.encode("EVALSHA", "sha")).toBe(whole.replace("..", ".x"));
  expect(marksOf(second)).toBe("..");
  expect(second.encode("EVALSHA", "sha")).toBe(whole);
});

test("ScriptCall updates marks that it has returned before", async () => {
  const { calls, nodes } = await asked(1, ({ acquire }) => {
    for (const owner of ["alice", "bob"]) ignore(acquire(acquireRequest(owner)));
  });
  const words = calls[0].keysAndArguments();
  ignore(nodes[0].release(releaseRequest("alice")));
  expect(words.filter((word) => Buffer.isBuffer(word)).map(String)).toEqual(["xa"]);
});

test("redisNode() sends the common script only if it may be able to do all operations of the call", async () => {
  type Ask = (node: RedisNode) => Promise<unknown>;
  const acquire: Ask = (node) => node.acquire(acquireRequest("alice", { epoch: 3, shared: false }));
  const release: Ask = (node) => node.release(releaseRequest("bob"));
  const inspect: Ask = (node) => node.inspect("s");
  for (const [operations, script] of [
    [[acquire], commonScript],
    [[acquire, release], commonScript],
    [[acquire, release, inspect], lockScript],
    [[inspect, acquire], lockScript],
  ] as const) {
    const { scripts } = await asked(1, (node) => {
      for (const operate of operations) ignore(operate(node));
    });
    expect(scripts).toEqual([script.sha]);
  }
});

test("redisNode() divides the operations of a tick evenly among the fewest calls", async () => {
  const sizesOf = async (count: number, resourcesOfEach = 1) => {
    const { calls } = await asked(1, ({ acquire }) => {
      for (let i = 0; i < count; i++) {
        const resources = Array.from({ length: resourcesOfEach }, (_, index) => `r${i}:${index}`);
        ignore(acquire(acquireRequest(`owner ${i}`, { resources })));
      }
    });
    return calls.map((call) => marksOf(call).length);
  };
  expect(await sizesOf(64)).toEqual([64]);
  expect(await sizesOf(65)).toEqual([33, 32]);
  expect(await sizesOf(100)).toEqual([50, 50]);
  expect(await sizesOf(200)).toEqual([50, 50, 50, 50]);
  expect(await sizesOf(33, 2)).toEqual([17, 16]);
  expect(await sizesOf(11, 7)).toEqual([6, 5]);
  expect(await sizesOf(2, 65)).toEqual([1, 1]);
});

describe("redisNode() over a client that writes once a turn", () => {
  /** Creates a node, whose client writes its commands in the next turn and gets no answer, and what that has written. */
  function writing(options: RedisNodeOptions = { verifyServer: false }) {
    const writes: string[][] = [];
    let waiting: ScriptCall[] = [];
    const runScript: RedisConnection["runScript"] = (_command, _script, call) => {
      if (waiting.push(call) === 1) setImmediate(write);
      return new Promise(() => {});
    };
    const write = () => {
      writes.push(waiting.map((call) => ownersIn(call).join(" ")));
      waiting = [];
    };
    const connection = { isConnected: true };
    const isReady = () => connection.isConnected;
    const node = redisNode({ name: "n", isCluster: false, writesOnceATurn: true, isReady, runScript }, options);
    const acquire = (from: number, to: number, servers?: ServerVotes) => {
      for (let index = from; index < to; index++) ignore(node.acquire({ ...acquireRequest(`o${index}`), servers }));
    };
    return { node, writes, acquire, connection };
  }
  /** Returns the owners of the operations, and "i" for a call that identifies the server. */
  const ownersIn = (call: ScriptCall) => call.keysAndArguments().filter((word) => /^(o\d+|i)$/.test(String(word)));
  const owners = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => `o${from + index}`).join(" ");
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await nextTurn();
  };

  test("the first call leaves in this turn and the others in the next, in order", async () => {
    const { writes, acquire } = writing();
    acquire(0, 130);
    await turns(6);
    expect(writes).toEqual([[owners(0, 44)], [owners(44, 87), owners(87, 130)]]);
  });

  test("all calls leave in one write if there are other nodes, whose servers work at the same time", async () => {
    const { writes, acquire } = writing();
    acquire(0, 99, new Map());
    acquire(99, 100); // by another `Redlock`
    await turns(6);
    expect(writes).toEqual([[owners(0, 50), owners(50, 100)]]);
  });

  test("operations that come meanwhile leave after those that wait, and share their calls", async () => {
    const { writes, acquire } = writing();
    acquire(0, 100);
    await new Promise(process.nextTick);
    acquire(100, 110);
    await turns(6);
    expect(writes).toEqual([[owners(0, 50)], [owners(50, 110)]]);
  });

  test("a claim that is released while it waits is not sent", async () => {
    const { node, writes, acquire } = writing();
    acquire(0, 99);
    const last = node.acquire(acquireRequest("o99"));
    await new Promise(process.nextTick);
    ignore(node.release(releaseRequest("o99")));
    await expect(last).rejects.toThrow("timed out before it was sent");
    await turns(6);
    expect(writes).toEqual([[owners(0, 50)], [`${owners(50, 99)} o99`]]); // the last is the release
  });

  test("a claim whose connection is lost while it waits is not sent, and a release is", async () => {
    const { node, writes, acquire, connection } = writing();
    acquire(0, 98);
    const [last] = [node.acquire(acquireRequest("o98")), ignore(node.release(releaseRequest("o99")))];
    await new Promise(process.nextTick);
    connection.isConnected = false;
    await expect(last).rejects.toThrow("not connected");
    await turns(6);
    expect(writes).toEqual([[owners(0, 50)], ["o99"]]);
  });

  test("a question for the identity of the server leaves at once, after all that waits", async () => {
    const { node, writes, acquire } = writing({});
    for (let index = 0; index < 200; index++) ignore(node.release(releaseRequest(`o${index}`)));
    await new Promise(process.nextTick);
    acquire(200, 201);
    await turns(6);
    expect(writes.flat()).toEqual([
      ...[owners(0, 50), owners(50, 100), owners(100, 150), owners(150, 200)],
      ...["i", "o200"],
    ]);
  });
});

test("redisNode() encodes a request by the options of each node", async () => {
  const request = frozenRequest("alice", ["r"]);
  for (const [options, words] of [
    [{ prefix: "a:" }, /^a:r,.*,a,alice,/],
    [{ prefix: "b:" }, /^b:r,.*,a,alice,/],
    [{ prefix: "a:", restartGuardMs: longMs }, new RegExp(`^a:r,.*,${longMs},acquire,1,alice,`)],
  ] as const) {
    const { calls } = await asked(1, ({ acquire }) => ignore(acquire(request)), options);
    expect(calls[0].keysAndArguments().join()).toMatch(words);
  }
});

test("redisNode() encodes a mutable request again for each node", async () => {
  const request = { ...acquireRequest("alice"), resources: ["r"] };
  const { calls } = await asked(2, ({ acquire }) => {
    ignore(acquire(request));
    request.resources[0] = "s";
  });
  expect(calls.map(({ firstKey }) => firstKey)).toEqual(["lock:r", "lock:s"]);
});

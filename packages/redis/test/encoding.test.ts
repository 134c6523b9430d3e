import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { ignore } from "@holdfast/redis-testkit/timing";
import { describe, expect, test } from "vitest";
import type { RedisConnection, RedisNodeOptions, ScriptCall } from "../src/index.ts";
import { redisNode } from "../src/index.ts";

type Send = (command: "EVALSHA" | "EVAL", script: string, call: ScriptCall) => Promise<unknown>;

/** Creates a node that sends its calls to `send`. */
function nodeOver(runScript: Send, options: RedisNodeOptions) {
  const connection: RedisConnection = { name: "n", isCluster: false, isReady: () => true, runScript };
  return redisNode(connection, { verifyServer: false, ...options });
}

/** Returns the calls of several nodes that get the same requests. */
async function callsOf(
  nodeCount: number,
  ask: (node: ReturnType<typeof redisNode>) => void,
  options: RedisNodeOptions = {},
): Promise<ScriptCall[]> {
  const calls: ScriptCall[] = [];
  for (let index = 0; index < nodeCount; index += 1) {
    const send: Send = (_command, _script, call) => {
      calls.push(call);
      return new Promise(() => {});
    };
    ask(nodeOver(send, { name: `n${index}`, ...options }));
  }
  await new Promise(process.nextTick);
  return calls;
}

/** Returns the bytes that a library would write for the words of a call. */
function written(command: string, script: string, call: ScriptCall): string {
  const words = [command, script, String(call.keyCount), ...call.keysAndArguments()];
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;
}

/** Returns the marks of the operations, the second argument of the script. */
function marksOf(call: ScriptCall): string {
  return String(call.keysAndArguments()[call.keyCount + 1]);
}

function askForMuch(node: ReturnType<typeof redisNode>): void {
  ignore(node.acquire(acquireRequest("prüfer 🔒", { resources: ["{é}", "日本語"], waiter: "é" })));
  ignore(node.extend(extendRequest("bob", { ttlMs: 5_000 })));
  ignore(node.acquire(acquireRequest("carol", { takeover: "ß", ttlMs: 5_000 })));
  ignore(node.inspect("r"));
  ignore(node.release(releaseRequest("dave", ["\u0000", "r"])));
}

test("ScriptCall.encode() returns the words of keysAndArguments() as bulk strings, whose lengths are in bytes", async () => {
  const calls = await callsOf(2, askForMuch);
  expect(calls).toHaveLength(2);
  for (const call of calls) expect(call.encode("EVALSHA", "sha")).toEqual(written("EVALSHA", "sha", call));
});

test("ScriptCall.encode() uses the given command and script, whatever an earlier call used", async () => {
  const [call] = (await callsOf(1, askForMuch)) as [ScriptCall];
  const commands = [
    ["EVALSHA", "sha"],
    ["EVAL", "return 'é'"],
    ["EVAL", "return 1"],
    ["EVALSHA", "sha"],
  ] as const;
  for (const [command, script] of commands)
    expect(call.encode(command, script)).toEqual(written(command, script, call));
});

test("ScriptCall strikes out only the abandoned operation, and only for its node", async () => {
  const calls: ScriptCall[] = [];
  const nodes = ["a", "b"].map((name) =>
    nodeOver(
      (_command, _script, call) => {
        calls.push(call);
        return new Promise(() => {});
      },
      { name },
    ),
  );
  // Core sends each request to all nodes.
  for (const request of [frozenRequest("alice", ["a", "b"]), frozenRequest("bob", ["c", "d"])]) {
    for (const node of nodes) ignore(node.acquire(request));
  }
  await new Promise(process.nextTick);
  const [first, second] = calls as [ScriptCall, ScriptCall];
  expect(marksOf(first)).toBe("..");
  const whole = second.encode("EVALSHA", "sha");
  expect(first.encode("EVALSHA", "sha")).toBe(whole);

  ignore(nodes[0]?.release(releaseRequest("bob", ["c", "d"])) as Promise<unknown>);
  expect(marksOf(first)).toBe(".x");
  expect(first.encode("EVALSHA", "sha")).toBe(written("EVALSHA", "sha", first));
  expect(first.encode("EVALSHA", "sha")).toBe(whole.replace("..", ".x"));
  expect(marksOf(second)).toBe("..");
  expect(second.encode("EVALSHA", "sha")).toBe(whole);
});

test("ScriptCall updates marks that it has returned before", async () => {
  const nodes: ReturnType<typeof redisNode>[] = [];
  const [call] = (await callsOf(1, (node) => {
    nodes.push(node);
    ignore(node.acquire(acquireRequest("alice")));
    ignore(node.acquire(acquireRequest("bob")));
  })) as [ScriptCall];
  const words = call.keysAndArguments();
  ignore(nodes[0]?.release(releaseRequest("alice")) as Promise<unknown>);
  expect(words.filter((word) => Buffer.isBuffer(word)).map(String)).toEqual(["x."]);
});

describe("a record", () => {
  /** Returns the keys of a single operation, and its arguments after the header. */
  async function recordOf(
    ask: (node: ReturnType<typeof redisNode>) => Promise<unknown>,
    options: RedisNodeOptions = {},
  ): Promise<{ keys: unknown[]; words: unknown[] }> {
    const [call] = (await callsOf(1, (node) => ignore(ask(node)), options)) as [ScriptCall];
    const words = call.keysAndArguments();
    return { keys: words.slice(0, call.keyCount), words: words.slice(call.keyCount + 4) };
  }

  const lock = "lock:r";
  const fence = "holdfast:fence:{lock:r}";
  const list = "holdfast:line:{lock:r}";
  const dayMs = 86_400_000;
  const terms = { ttlMs: 5_000, fenceHint: 7 };

  test("of acquire() is short for one resource without takeover, waiter and guard", async () => {
    expect(await recordOf(({ acquire }) => acquire(acquireRequest("alice", terms)))).toEqual({
      keys: [lock, fence],
      words: ["acquire-one", "alice", "7", "5000", String(dayMs + 5_000), "1"],
    });
    const forEver = await recordOf(({ acquire }) => acquire(acquireRequest("alice", terms)), { fenceTtlMs: Infinity });
    expect(forEver.words.at(-2)).toBe("0");
    const later = await recordOf(({ acquire }) => acquire(acquireRequest("alice", { ...terms, epoch: 3 })));
    expect(later.words.at(-1)).toBe("3");
  });

  test.each([
    ["a takeover", { takeover: "bob" }, {}, [lock, fence], "1", ["bob", ""]],
    ["a waiter", { waiter: "w" }, {}, [lock, fence, list], "1", ["", "w"]],
    ["a guard", {}, { restartGuardMs: 5_000 }, [lock, fence], "1", ["", ""]],
    ["two resources", { resources: ["r", "s"] }, {}, [lock, "lock:s", fence, "holdfast:fence:{lock:s}"], "2", ["", ""]],
  ] as const)("of acquire() uses the general path for %s", async (_, more, options, keys, count, last) => {
    const record = await recordOf(({ acquire }) => acquire(acquireRequest("alice", { ...terms, ...more })), options);
    expect(record).toEqual({
      keys,
      words: ["acquire", count, "alice", "7", "5000", String(dayMs + 5_000), "1", ...last],
    });
  });

  test("of extend() says whether it may rejoin", async () => {
    for (const rejoin of [false, true]) {
      const request = extendRequest("alice", { ttlMs: 5_000, fence: 9, rejoin });
      expect(await recordOf(({ extend }) => extend(request))).toEqual({
        keys: [lock, fence],
        words: ["extend", "1", "alice", "9", "5000", String(dayMs + 5_000), rejoin ? "1" : "0"],
      });
    }
  });

  test("of a shared claim has the form of the general path, under another name", async () => {
    const claim = acquireRequest("alice", { ...terms, shared: true });
    expect(await recordOf(({ acquire }) => acquire(claim))).toEqual({
      keys: [lock, fence],
      words: ["acquire-shared", "1", "alice", "7", "5000", String(dayMs + 5_000), "1", "", ""],
    });
    const extension = extendRequest("alice", { ttlMs: 5_000, fence: 9, shared: true });
    expect(await recordOf(({ extend }) => extend(extension))).toEqual({
      keys: [lock, fence],
      words: ["extend-shared", "1", "alice", "9", "5000", String(dayMs + 5_000), "0"],
    });
    const exclusive = await recordOf(({ acquire }) => acquire({ ...claim, shared: false }));
    expect(exclusive.words[0]).toBe("acquire-one");
  });

  test.each([
    ["one resource, announced", {}, [lock, list], ["release-one", "alice"]],
    ["a waiter", { waiter: "w" }, [lock, list], ["release", "1", "alice", "1", "w"]],
    ["an undo", { undo: true }, [lock], ["release", "1", "alice", "0", ""]],
    [
      "two resources",
      { resources: ["r", "s"] },
      [lock, "lock:s", list, "holdfast:line:{lock:s}"],
      ["release", "2", "alice", "1", ""],
    ],
  ])("of release(): %s", async (_, more, keys, words) => {
    expect(await recordOf(({ release }) => release({ ...releaseRequest("alice"), ...more }))).toEqual({ keys, words });
  });

  test("of inspect() has no fields", async () => {
    expect(await recordOf(({ inspect }) => inspect("r"))).toEqual({ keys: [lock, fence], words: ["inspect"] });
  });
});

describe("the header of a call", () => {
  const headerOf = (call: ScriptCall) =>
    call
      .keysAndArguments()
      .slice(call.keyCount, call.keyCount + 4)
      .map(String);

  test("has a unique call id, the marks, the guard of the node, and the key of its floor", async () => {
    const [call] = (await callsOf(1, askForMuch)) as [ScriptCall];
    const [callId, marks, ...others] = headerOf(call);
    expect(callId).toMatch(/^\d+$/);
    expect([marks, ...others]).toEqual([".....", "0", "holdfast:fence:floor:lock:"]);
    const guard = { restartGuardMs: longMs };
    const [guarded, another] = await callsOf(2, ({ inspect }) => ignore(inspect("r")), guard);
    expect(headerOf(guarded as ScriptCall)[2]).toBe(String(longMs));
    const [release] = (await callsOf(1, (node) => ignore(node.release(releaseRequest("alice"))))) as [ScriptCall];
    expect(headerOf(release)[3]).toBe("");
    const ids = [call, guarded, another].map((each) => headerOf(each as ScriptCall)[0]);
    expect(new Set(ids).size).toBe(3);
  });

  test("is the same for all nodes that get the same requests, unless their guards differ", async () => {
    const request = frozenRequest("alice", ["a", "b"]);
    const ask = (node: ReturnType<typeof redisNode>) => ignore(node.acquire(request));
    const [first, second] = await callsOf(2, ask);
    const [guarded] = await callsOf(1, ask, { restartGuardMs: longMs });
    expect(first?.encode("EVALSHA", "sha")).toBe(second?.encode("EVALSHA", "sha"));
    expect(guarded?.encode("EVALSHA", "sha")).not.toBe(first?.encode("EVALSHA", "sha"));
  });
});

test("redisNode() divides the operations of a tick evenly among the fewest calls", async () => {
  const sizesOf = async (count: number, resourcesOfEach = 1) => {
    const calls = await callsOf(1, (node) => {
      for (let i = 0; i < count; i++) {
        const resources = Array.from({ length: resourcesOfEach }, (_, index) => `r${i}:${index}`);
        ignore(node.acquire(acquireRequest(`owner ${i}`, { resources })));
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

test("redisNode() encodes a request by the options of each node", async () => {
  const request = frozenRequest("alice", ["r"]);
  const keys: unknown[] = [];
  for (const prefix of ["a:", "b:", "a:"]) {
    const [call] = await callsOf(1, (node) => ignore(node.acquire(request)), { prefix });
    keys.push(call?.firstKey);
  }
  expect(keys).toEqual(["a:r", "b:r", "a:r"]);
});

test("redisNode() encodes a mutable request again for each node", async () => {
  const request = { ...acquireRequest("alice"), resources: ["r"] };
  const [first, second] = await callsOf(2, (node) => {
    ignore(node.acquire(request));
    request.resources[0] = "s";
  });
  expect([first?.firstKey, second?.firstKey]).toEqual(["lock:r", "lock:s"]);
});

/** Returns a frozen request, like core, which shares requests among nodes. */
function frozenRequest(owner: string, resources: string[]) {
  return Object.freeze(acquireRequest(owner, { resources: Object.freeze(resources) }));
}

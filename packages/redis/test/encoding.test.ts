import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { ignore } from "@holdfast/redis-testkit/timing";
import { describe, expect, test } from "vitest";
import type { EncodedCall } from "../src/encoding.ts";
import { commonScript } from "../src/generated/common-script.ts";
import { lockScript } from "../src/generated/lock-script.ts";
import type { RedisConnection, RedisNodeOptions, ScriptCall } from "../src/index.ts";
import { lockNames, redisNode } from "../src/index.ts";

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

/** Returns the marks of the operations, the second argument of both scripts. */
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

/** Returns the keys of a single operation, the header, and the words of its record. */
async function recordOf(
  ask: (node: ReturnType<typeof redisNode>) => Promise<unknown>,
  options: RedisNodeOptions = {},
): Promise<{ script: "common" | "lock"; keys: unknown[]; header: string[]; words: unknown[] }> {
  const [call] = (await callsOf(1, (node) => ignore(ask(node)), options)) as [EncodedCall];
  const script = call.template.script.sha === commonScript.sha ? "common" : "lock";
  const words = call.keysAndArguments();
  const recordAt = call.keyCount + (script === "common" ? 2 : 3);
  return {
    script,
    keys: words.slice(0, call.keyCount),
    header: words.slice(call.keyCount, recordAt).map(String),
    words: words.slice(recordAt),
  };
}

/** The keys of a resource, as the lock script takes them. */
function keysOf(resource: string): string[] {
  const { lock, fence, waitingList, sharers } = lockNames("lock:", resource);
  return [lock, fence, waitingList, sharers];
}

describe("a record", () => {
  const [lock, fence, list] = keysOf("r");
  const terms = { ttlMs: 5_000, fenceHint: 7 };

  test("of acquire() is for the common script if there is one resource without takeover, waiter and guard", async () => {
    const common = { script: "common", keys: [lock, fence] };
    expect(await recordOf(({ acquire }) => acquire(acquireRequest("alice", terms)))).toMatchObject({
      ...common,
      words: ["acquire", "alice", "7", "5000", "1"],
    });
    const later = acquireRequest("alice", { ...terms, epoch: 3, shared: false });
    expect(await recordOf(({ acquire }) => acquire(later))).toMatchObject({
      ...common,
      words: ["acquire", "alice", "7", "5000", "3"],
    });
  });

  test.each([
    ["a takeover", { takeover: "bob" }, {}, ["r"], ["bob", "", "0"]],
    ["a waiter", { waiter: "w" }, {}, ["r"], ["", "w", "0"]],
    ["a shared claim", { shared: true }, {}, ["r"], ["", "", "1"]],
    ["a guard", {}, { restartGuardMs: 5_000 }, ["r"], ["", "", "0"]],
    ["two resources", { resources: ["r", "s"] }, {}, ["r", "s"], ["", "", "0"]],
    [
      "all of that",
      { resources: ["r", "s"], takeover: "b", waiter: "w", shared: true },
      {},
      ["r", "s"],
      ["b", "w", "1"],
    ],
  ] as const)("of acquire() is for the lock script for %s", async (_, more, options, resources, last) => {
    const record = await recordOf(({ acquire }) => acquire(acquireRequest("alice", { ...terms, ...more })), options);
    expect(record).toMatchObject({
      script: "lock",
      keys: resources.flatMap(keysOf),
      words: ["acquire", String(resources.length), "alice", "7", "5000", "1", ...last],
    });
  });

  test.each([
    [{}, "0", "0"],
    [{ rejoin: true }, "0", "1"],
    [{ shared: true }, "1", "0"],
    [{ shared: true, rejoin: true }, "1", "1"],
  ])("of extend(): %j", async (more, shared, rejoin) => {
    const request = extendRequest("alice", { ttlMs: 5_000, fence: 9, resources: ["r", "s"], ...more });
    expect(await recordOf(({ extend }) => extend(request))).toMatchObject({
      script: "lock",
      keys: [...keysOf("r"), ...keysOf("s")],
      words: ["extend", "2", "alice", "9", "5000", shared, rejoin],
    });
  });

  test("of release() is for the common script if one resource is released, and that is announced", async () => {
    expect(await recordOf(({ release }) => release(releaseRequest("alice")))).toMatchObject({
      script: "common",
      keys: [lock, list],
      words: ["release", "alice"],
    });
  });

  test.each([
    ["a waiter", { waiter: "w" }, ["r"], ["1", "w"]],
    ["an undo", { undo: true }, ["r"], ["0", ""]],
    ["two resources", { resources: ["r", "s"] }, ["r", "s"], ["1", ""]],
  ])("of release() is for the lock script for %s", async (_, more, resources, last) => {
    const record = await recordOf(({ release }) => release({ ...releaseRequest("alice"), ...more }));
    expect(record).toMatchObject({
      script: "lock",
      keys: resources.flatMap(keysOf),
      words: ["release", String(resources.length), "alice", ...last],
    });
  });

  test("of inspect() has the most sharers to list", async () => {
    expect(await recordOf(({ inspect }) => inspect("r"))).toMatchObject({
      script: "lock",
      keys: keysOf("r"),
      words: ["inspect", "1", "100"],
    });
  });
});

describe("a call", () => {
  test("is one of the common script only if all of its operations may be", async () => {
    const scriptOf = async (...asks: ((node: ReturnType<typeof redisNode>) => Promise<unknown>)[]) => {
      const [call] = (await callsOf(1, (node) => {
        for (const ask of asks) ignore(ask(node));
      })) as [EncodedCall];
      return call.template.script.sha;
    };
    const acquire = (node: ReturnType<typeof redisNode>) => node.acquire(acquireRequest("alice"));
    const release = (node: ReturnType<typeof redisNode>) => node.release(releaseRequest("bob"));
    const inspect = (node: ReturnType<typeof redisNode>) => node.inspect("s");
    expect(await scriptOf(acquire, release)).toBe(commonScript.sha);
    expect(await scriptOf(acquire, release, inspect)).toBe(lockScript.sha);
    expect(await scriptOf(inspect, acquire)).toBe(lockScript.sha);
  });

  test("has all keys of its operations in their order, and then their records", async () => {
    const [call] = (await callsOf(1, ({ acquire, release, inspect }) => {
      ignore(acquire(acquireRequest("alice", { resources: ["a"] })));
      ignore(release(releaseRequest("bob", ["b", "c"])));
      ignore(inspect("d"));
    })) as [ScriptCall];
    const words = call.keysAndArguments().map(String);
    expect(words.slice(0, call.keyCount)).toEqual(["a", "b", "c", "d"].flatMap(keysOf));
    expect(call.firstKey).toBe("lock:a");
    expect(words.slice(call.keyCount + 3)).toEqual([
      ...["acquire", "1", "alice", "1", String(longMs), "1", "", "", "0"],
      ...["release", "2", "bob", "1", ""],
      ...["inspect", "1", "100"],
    ]);
  });
});

describe("the header of a call", () => {
  test("has a unique call id and the marks; for the lock script, also the guard of the node", async () => {
    const claim = (node: ReturnType<typeof redisNode>) => node.acquire(acquireRequest("alice"));
    const [common, another] = [await recordOf(claim), await recordOf(claim)];
    expect(common).toMatchObject({ script: "common", header: [expect.stringMatching(/^\d+$/), "."] });
    const unguarded = await recordOf(({ inspect }) => inspect("r"));
    expect(unguarded).toMatchObject({ script: "lock", header: [expect.stringMatching(/^\d+$/), ".", "0"] });
    const guarded = await recordOf(claim, { restartGuardMs: longMs });
    expect(guarded).toMatchObject({ script: "lock", header: [expect.stringMatching(/^\d+$/), ".", String(longMs)] });
    expect(new Set([common, another, unguarded, guarded].map(({ header }) => header[0])).size).toBe(4);
    const [call] = (await callsOf(1, askForMuch)) as [ScriptCall];
    expect(marksOf(call)).toBe(".....");
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

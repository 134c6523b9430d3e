import { describe, expect, test } from "vitest";
import { redisNode } from "../src/index.ts";
import { connectionOver, startBench } from "./connection.ts";
import { acquireRequest, extendRequest, releaseRequest } from "./requests.ts";

const { client, node } = await startBench();

/** A node whose connection distorts what the server replies. */
function over(distort: (reply: unknown) => unknown) {
  const connection = connectionOver(client);
  return redisNode({
    ...connection,
    runScript: async (...command) => distort(await connection.runScript(...command)),
  });
}

/** The same, save for the ticket at the beginning. */
function distorted(distort: (reply: unknown[]) => unknown[]) {
  return over((reply) => {
    const [ticket, ...rest] = reply as unknown[];
    return [ticket, ...distort(rest)];
  });
}

const nonsense = [[], [1], [1, 2, 3, 4], [null, null, null], ["1", {}], [2, 2], [undefined, 1]];
const noFence = [
  [1, 0],
  [1, -1],
  [1, 2 ** 53],
  [1, "9007199254740993"],
  [1, 1.5],
  [1, NaN],
  [1, ""],
  [1, null],
];
const noResource = [
  [-3, 1],
  [-2, -2],
  [-2, "x"],
];
const noDelay = [
  [0, -2],
  [0, "x"],
  [0, ""],
  [0, null],
  [0, 1.5],
];

describe("a reply that the script cannot have given", () => {
  test.each([...nonsense, ...noFence, ...noDelay, ...noResource])("%j, %j makes acquire() reject", async (...reply) => {
    const { acquire } = distorted(() => reply);
    await expect(acquire(acquireRequest("alice"))).rejects.toThrow("which is not an answer of the lock script");
  });

  test.each([...nonsense, ...noFence, ...noDelay, ...noResource, [0, 2], [0, -1]])(
    "%j, %j makes extend() reject",
    async (...reply) => {
      const { extend } = distorted(() => reply);
      await expect(extend(extendRequest("alice"))).rejects.toThrow("the server answered extend with");
    },
  );

  test.each([[], [1, 1], ["x"], [-1], [1.5], [null]])("%j makes release() reject", async (...reply) => {
    const { release } = distorted(() => reply);
    await expect(release(releaseRequest("alice"))).rejects.toThrow("the server answered release with");
  });

  test.each([
    ...nonsense,
    ["a", 1, 1],
    ...[
      [1, 1, 1],
      ["a", "x", 1],
      ["a", 1, -1],
      ["a", 1, null],
      [undefined, 1, 1],
    ].map((reply) => [...reply, 0]),
    ...["x", null, -2].map((recoveringMs) => ["a", 1, 1, recoveringMs]),
  ])("%j, %j, %j, %j makes inspect() reject", async (...reply) => {
    const { inspect } = distorted(() => reply);
    await expect(inspect("r")).rejects.toThrow("the server answered inspect with");
  });

  test.each([undefined, null, "OK", 1, true, {}, Symbol("x")])("%o makes everything reject", async (reply) => {
    const expected = "which is not an answer of the lock script";
    const { acquire, extend, release, inspect } = over(() => reply);
    await expect(acquire(acquireRequest("alice"))).rejects.toThrow(expected);
    await expect(extend(extendRequest("alice"))).rejects.toThrow(expected);
    await expect(release(releaseRequest("alice"))).rejects.toThrow(expected);
    await expect(inspect("r")).rejects.toThrow(expected);
  });
});

describe("the reply to several operations", () => {
  const nonsenseAnswered = /^the server answered .* which is not an answer of the lock script$/;

  /** What becomes of a claim, a release and another claim that share a reply. */
  async function outcomes(distort: (reply: unknown[]) => unknown[]): Promise<unknown[]> {
    await node().release(releaseRequest("warm-up"));
    const connection = connectionOver(client);
    const { acquire, release } = redisNode(
      {
        ...connection,
        async runScript(...command) {
          const [ticket, ...answers] = (await connection.runScript(...command)) as unknown[];
          return [ticket, ...distort(answers)];
        },
      },
      { verifyServer: false },
    );
    const settled = await Promise.allSettled([
      acquire(acquireRequest("alice", { resources: ["a"] })),
      release(releaseRequest("nobody", ["b"])),
      acquire(acquireRequest("carol", { resources: ["c"] })),
    ]);
    return settled.map((each) => (each.status === "fulfilled" ? each.value : each.reason.message));
  }

  test.each([
    ["short", (reply: unknown[]) => reply.slice(0, -1)],
    ["long", (reply: unknown[]) => [...reply, 1]],
    ["empty", () => []],
  ])("that is too %s makes all of them reject", async (_, distort) => {
    const refused = expect.stringMatching(nonsenseAnswered);
    expect(await outcomes(distort)).toEqual([refused, refused, refused]);
  });

  test("in which one answer is nonsense makes that one reject, and no other", async () => {
    const first = { granted: true, fence: 1 };
    const refused = expect.stringMatching(nonsenseAnswered);
    expect(await outcomes((reply) => reply.with(0, 7))).toEqual([refused, { released: false }, first]);
    expect(await outcomes((reply) => reply.with(2, -1))).toEqual([first, refused, { granted: true, fence: 1 }]);
  });

  test("in which one answer is an error makes that one reject with it, and no other", async () => {
    const answers = await outcomes((reply) => reply.with(2, "!ERR of the server"));
    expect(answers).toEqual([{ granted: true, fence: 1 }, "ERR of the server", { granted: true, fence: 1 }]);
  });
});

describe("the reply to another command", () => {
  test("is not taken for the own one by a client that has lost count", async () => {
    let previous: unknown = ["0", 1, "1"];
    const confused = over((reply) => {
      const delivered = previous;
      previous = reply;
      return delivered;
    });
    const expected = "the client mistook the reply to another command for the one to this";
    for (let round = 0; round < 3; round++) {
      const request = acquireRequest(`owner ${round}`, { resources: [`r${round}`] });
      await expect(confused.acquire(request)).rejects.toThrow(expected);
      await expect(confused.extend(extendRequest("alice"))).rejects.toThrow(expected);
      await expect(confused.release(releaseRequest("alice"))).rejects.toThrow(expected);
      await expect(confused.inspect("r")).rejects.toThrow(expected);
    }
  });
});

describe("a reply", () => {
  test.each([
    ["strings", String],
    ["buffers", (value: unknown) => Buffer.from(String(value))],
  ] as [string, (value: unknown) => unknown][])("is understood where the client gives %s", async (_, convert) => {
    await node().release(releaseRequest("alice"));
    const converting = distorted((reply) =>
      (reply as unknown[]).map((value) => (value === null ? null : convert(value))),
    );
    expect(await converting.inspect("r")).toEqual({ owner: null, remainingMs: null, fence: 0 });
    expect(await converting.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    expect(await converting.acquire(acquireRequest("bob"))).toMatchObject({ granted: false });
    expect(await converting.extend(extendRequest("alice"))).toEqual({ held: true, fence: 1 });
    expect(await converting.inspect("r")).toMatchObject({ owner: "alice", fence: 1 });
    expect(await converting.release(releaseRequest("alice"))).toEqual({ released: true });
  });
});

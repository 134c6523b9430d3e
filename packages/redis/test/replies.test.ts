import { acquireRequest, extendRequest, releaseRequest } from "@holdfast/redis-testkit/requests";
import { describe, expect, test } from "vitest";
import { type RedisNodeOptions, redisNode } from "../src/index.ts";
import { connectionOver, startBench } from "./connection.ts";

const { client, node } = await startBench();

/** Creates a node whose connection changes the replies of the server. */
function over(distort: (reply: unknown) => unknown, options: RedisNodeOptions = { verifyServer: false }) {
  const connection = connectionOver(client);
  const runScript: typeof connection.runScript = async (...command) => distort(await connection.runScript(...command));
  return redisNode({ ...connection, runScript }, options);
}

/** Creates a node whose connection changes the replies except for the call id at the beginning. */
function distorted(distort: (answers: unknown[]) => unknown[]) {
  return over((reply) => {
    const [callId, ...answers] = reply as unknown[];
    return [callId, ...distort(answers)];
  });
}

const nonsense = [undefined, null, true, "", "x", 1.5, NaN, 2 ** 53, "9007199254740993", {}, [], [1], ["x"], [null, 1]];
/** To the answer -1, the operation goes to the lock script, which never gives it. */
const noGrant = [-1, "-1", -2];
const noDenial = [
  ["denied"],
  ["denied", -2, 0],
  ["denied", "x", 0],
  ["denied", "", 0],
  ["denied", null, 0],
  ["denied", 1.5, 0],
  ["denied", 1],
  ["denied", 1, null],
  ["denied", 1, "x"],
  ["denied", 1, -1],
  ["denied", 1, 2],
];
const noRecovery = [["recovering"], ["recovering", 0], ["recovering", -2], ["recovering", "x"], ["recovering", 1.5]];
const noEpoch = [["epoch"], ["epoch", 0], ["epoch", -1], ["epoch", "x"], ["epoch", null]];
const view: readonly unknown[] = ["a", 1, 1, 0];

describe("an answer that the script never gives", () => {
  test.each(
    [...nonsense, ...noGrant, ...noDenial, ...noRecovery, ...noEpoch, ["next", "w"], view].map((each) => [each]),
  )("%j makes acquire() reject", async (answer) => {
    const { acquire } = distorted(() => [answer]);
    await expect(acquire(acquireRequest("alice"))).rejects.toThrow("which is not an answer of the lock script");
  });

  test.each([...nonsense, -2, ["denied", 1, 0], ["recovering", 1], ["epoch", 2], view].map((each) => [each]))(
    "%j makes extend() reject",
    async (answer) => {
      const { extend } = distorted(() => [answer]);
      await expect(extend(extendRequest("alice"))).rejects.toThrow("the server answered extend with");
    },
  );

  test.each([...nonsense, -1, ["next"], ["next", 1], ["next", null], ["denied", 1, 0], view].map((each) => [each]))(
    "%j makes release() reject",
    async (answer) => {
      const { release } = distorted(() => [answer]);
      await expect(release(releaseRequest("alice"))).rejects.toThrow("the server answered release with");
    },
  );

  test.each(
    [
      ...[...nonsense, 1, view.slice(0, 3), [...view, 0]],
      ...[[], ["alice"], ["alice", -1], [1, 1], ["alice", 1, "bob"]].map((sharers) => [...view, sharers]),
      ...[1, undefined, {}].map((owner) => view.with(0, owner)),
      ...["x", null, 1.5].map((remainingMs) => view.with(1, remainingMs)),
      ...[-1, null, "x"].map((fence) => view.with(2, fence)),
      ...["x", null, -2].map((recoveringMs) => view.with(3, recoveringMs)),
    ].map((each) => [each]),
  )("%j makes inspect() reject", async (answer) => {
    const { inspect } = distorted(() => [answer]);
    await expect(inspect("r")).rejects.toThrow("the server answered inspect with");
  });
});

describe("the answer 0 to acquire()", () => {
  test.each([0, "0", Buffer.from("0")])("is a grant with the hinted fence: %j", async (answer) => {
    const { acquire } = distorted(() => [answer]);
    expect(await acquire(acquireRequest("alice", { fenceHint: 70 }))).toEqual({ granted: true, fence: 70 });
  });

  test.each([0, -70])("is no grant if the hint is not a fence: %i", async (fenceHint) => {
    const { acquire } = distorted(() => [0]);
    const answer = acquire(acquireRequest("alice", { fenceHint }));
    await expect(answer).rejects.toThrow("which is not an answer of the lock script");
  });
});

describe("a reply to the identification of the server", () => {
  test.each([[[]], [1], [null], [{}], [["x"]], [["", "master"]], [[1, 2]], [["error", "ERR of the server"]]])(
    "of %j does not prevent the node from voting",
    async (answer) => {
      let isFirst = true;
      const node = over(
        (reply) => {
          const [callId] = reply as unknown[];
          const told = isFirst ? [callId, answer] : reply;
          isFirst = false;
          return told;
        },
        { verifyServer: true },
      );
      expect(await node.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    },
  );
});

describe("a reply that the script never gives", () => {
  test.each([undefined, null, "OK", 1, true, {}, Symbol("x")])("%o makes every operation reject", async (reply) => {
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

  /** Returns the outcomes of a claim, a release and another claim that share a reply. */
  async function outcomes(distort: (reply: unknown[]) => unknown[]): Promise<unknown[]> {
    await client.flushall();
    await node().release(releaseRequest("warm-up"));
    const { acquire, release } = distorted(distort);
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

  test("with one invalid answer makes only that operation reject", async () => {
    const first = { granted: true, fence: 1 };
    const refused = expect.stringMatching(nonsenseAnswered);
    expect(await outcomes((reply) => reply.with(0, -2))).toEqual([refused, { released: false }, first]);
    expect(await outcomes((reply) => reply.with(1, -2))).toEqual([first, refused, { granted: true, fence: 1 }]);
  });

  test("that is an error makes all of them reject, and nothing is sent again", async () => {
    let calls = 0;
    const refusing = redisNode({
      ...connectionOver(client),
      runScript() {
        calls += 1;
        return Promise.reject(new Error("MASTERDOWN Link with MASTER is down"));
      },
    });
    const claims = ["a", "b"].map((name) => refusing.release(releaseRequest(name, [name])));
    for (const claim of claims) await expect(claim).rejects.toThrow("MASTERDOWN");
    expect(calls).toBe(1);
  });

  test("with one error makes only that operation reject, with its message", async () => {
    const answers = await outcomes((reply) => reply.with(2, ["error", "ERR of the server"]));
    expect(answers).toEqual([{ granted: true, fence: 1 }, { released: false }, "ERR of the server"]);
  });
});

describe("the reply to another command", () => {
  test("is not accepted from a client that mismatches replies", async () => {
    let previous: unknown = [0, 1];
    const confused = over((reply) => {
      const delivered = previous;
      previous = reply;
      return delivered;
    });
    const expected = "the client returned the reply to another command";
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
    const convertAll = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(convertAll);
      return value === null ? null : convert(value);
    };
    const converting = over(convertAll);
    expect(await converting.inspect("r")).toEqual({ owner: null, remainingMs: null, fence: 0 });
    expect(await converting.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    expect(await converting.acquire(acquireRequest("bob"))).toMatchObject({ granted: false });
    expect(await converting.extend(extendRequest("alice"))).toEqual({ held: true, fence: 1 });
    expect(await converting.inspect("r")).toMatchObject({ owner: "alice", fence: 1 });
    expect(await converting.acquire(acquireRequest("bob", { waiter: "w" }))).toMatchObject({ granted: false });
    expect(await converting.release(releaseRequest("alice"))).toEqual({ released: true, next: "w" });
    for (const owner of ["carol", "dave"]) await converting.acquire(acquireRequest(owner, { shared: true }));
    const view = await converting.inspect("r");
    expect(view.sharers?.map(({ owner }) => owner).sort()).toEqual(["carol", "dave"]);
    expect(view.sharers?.every(({ remainingMs }) => remainingMs > 0)).toBe(true);
  });
});

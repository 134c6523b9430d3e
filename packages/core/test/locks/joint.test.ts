import { EpochError, type JointSet, type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import { servedBy } from "@holdfast/core/node";
import { memoryNode } from "@holdfast/memory";
import { FaultyNode, fuzzSeed, VirtualClock } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NodeSets } from "../../src/node-sets.ts";
import { verdict } from "../../src/votes.ts";
import { claimOf } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

/** Nodes with these names, and clients of any sets of them. */
function servers(names: string) {
  const clock = new VirtualClock();
  const inner = new Map([...names].map((name) => [name, memoryNode({ name, clock })]));
  const all = new Map([...inner].map(([name, node]) => [name, new FaultyNode(node, clock)]));
  const named = (some: string): FaultyNode[] => [...some].map((name) => all.get(name) as FaultyNode);
  const options = { clock, nodeTimeoutMs: 50, waitTimeoutMs: 0, label: "me" };
  return {
    clock,
    named,
    node: (name: string) => inner.get(name) as ReturnType<typeof memoryNode>,
    fail(some: string) {
      for (const node of all.values()) {
        const isDown = some.includes(node.name);
        node.fault = () => (isDown ? { reject: new Error("down") } : undefined);
      }
    },
    one: (some: string, given: RedlockOptions = {}) => new Redlock(named(some), { ...options, ...given }),
    joint: (old: string, next: string, given: RedlockOptions = {}) =>
      new Redlock({ old: named(old), new: named(next) }, { ...options, ...given }),
  };
}

describe("new Redlock({ old, new })", () => {
  it.each([
    ["all nodes", "", true],
    ["a majority of both sets", "cfg", true],
    ["no majority of the old set", "bc", false],
    ["no majority of the new set", "efg", false],
  ])("acquire() needs a quorum of each set: with %s", async (_, down, isEnough) => {
    const { clock, joint, fail } = servers("abcdefgh");
    const redlock = joint("abc", "defgh");
    fail(down);
    const attempt = clock.until(redlock.acquire("r"));
    if (isEnough) expect((await attempt).resources).toEqual(["r"]);
    else await expect(attempt).rejects.toMatchObject({ code: "QUORUM_UNREACHABLE" });
  });

  it("adopt() of a ticket that only the old set holds rejects, and leaves it to clients of the old set", async () => {
    const { clock, joint, one } = servers("abcdefgh");
    const lock = await clock.until(one("abc").acquire("r"));
    const ticket = await clock.until(lock.transfer());
    await expect(clock.until(joint("abc", "defgh").adopt(ticket))).rejects.toMatchObject({ code: "TICKET_SPENT" });
    const adopted = await clock.until(one("abc").adopt(ticket));
    const next = await clock.until(adopted.transfer());
    await expect(clock.until(one("abc").adopt(ticket))).rejects.toMatchObject({ code: "TICKET_SPENT" });
    await clock.until(one("abc").adopt(next));
  });

  it("adopt() by a client of both sets needs a quorum of each that holds the ticket", async () => {
    const { clock, joint, fail } = servers("abcdefgh");
    const lock = await clock.until(joint("abc", "defgh").acquire("r"));
    fail("cfg");
    const ticket = await clock.until(lock.transfer());
    const adopted = await clock.until(joint("abc", "defgh").adopt(ticket));
    expect(adopted.fence).toBeGreaterThan(lock.fence);
    expect(adopted.owner).toMatch(/\.3$/);
  });

  it("acquire() counts a node of both sets in both", async () => {
    const { clock, joint, fail } = servers("abcde");
    const redlock = joint("abc", "abcde");
    expect(redlock.nodes.map(({ name }) => name)).toEqual(["a", "b", "c", "d", "e"]);
    fail("de");
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.release());
    fail("ade");
    await expect(clock.until(redlock.acquire("r"))).rejects.toThrow(
      /^could not lock r: \d of 3 old nodes granted, 2 needed; \d of 5 new nodes granted, 3 needed; a failed: down/,
    );
  });

  it.each([
    ["old", "abc", 0],
    ["new", "def", 1],
  ])("acquire() excludes, and is excluded by, a client that knows only the %s set", async (_, names, generation) => {
    const { clock, one, joint } = servers("abcdef");
    const [other, both] = [one(names, { generation }), joint("abc", "def")];
    const lock = await clock.until(both.acquire("r"));
    await expect(clock.until(other.acquire("r"))).rejects.toMatchObject({ code: "LOCK_HELD" });
    await clock.until(lock.release());
    const second = await clock.until(other.acquire("r"));
    await expect(clock.until(both.acquire("r"))).rejects.toMatchObject({ code: "LOCK_HELD" });
    expect(second.fence).toBeGreaterThan(lock.fence);
    await clock.until(second.release());
    expect((await clock.until(both.acquire("r"))).fence).toBeGreaterThan(second.fence);
  });

  it("extend() loses the lock when one of the two sets has no quorum of it", async () => {
    const { clock, joint, node } = servers("abcdef");
    const lock = await clock.until(joint("abc", "def").acquire("r"));
    for (const name of "de") {
      await node(name).release({ resources: ["r"], owner: lock.owner, timeoutMs: 50 });
      await node(name).acquire(claimOf("other", "r"));
    }
    await expect(clock.until(lock.extend())).rejects.toMatchObject({ code: "LOCK_LOST", reason: "not-held" });
  });

  it("acquire() agrees on a token with a quorum of each set", async () => {
    const { clock, joint, node, fail } = servers("abcdef");
    const claim = { resources: ["r"], ttlMs: 1, fenceHint: 5e15, timeoutMs: 50 };
    for (const name of "ad") await node(name).acquire({ ...claim, owner: `before-${name}` });
    await clock.advance(10);
    const highest = (await node("a").inspect("r")).fence;
    fail("c");
    const lock = await clock.until(joint("abc", "def").acquire("r"));
    expect(lock.fence).toBeGreaterThan(highest);
    for (const name of "abde") expect((await node(name).inspect("r")).fence).toBe(lock.fence);
  });

  it("release() is confirmed by a quorum of each set", async () => {
    const { clock, joint, fail } = servers("abcdef");
    const lock = await clock.until(joint("abc", "def").acquire("r"));
    fail("de");
    await expect(clock.until(lock.release())).rejects.toThrow(
      /\d of 3 old nodes answered, 2 needed; \d of 3 new nodes answered, 2 needed; d failed/,
    );
  });

  it.each([
    ["the old set", "abc", 3],
    ["both sets", "", 0],
  ])("acquire() waits and gets the lock soon after a client of %s has released it", async (_, known, withinMs) => {
    for (let round = 0; round < 10; round++) {
      const { clock, one, joint } = servers("abcdefgh");
      const holder = known === "" ? joint("abc", "defgh") : one(known);
      const waiting = { waitTimeoutMs: 60_000, retryDelayMs: 60_000, retryDelayMaxMs: 60_000 };
      const lock = await clock.until(holder.acquire("r", { ttlMs: 60_000 }));
      const next = joint("abc", "defgh", waiting).acquire("r");
      await clock.advance(500);
      const releasedAtMs = clock.monotonicMs();
      await lock.release();
      await clock.until(next);
      expect(clock.monotonicMs() - releasedAtMs).toBeLessThanOrEqual(withinMs);
    }
  });

  it("inspect() names the owner that has a quorum of either set, and both quorums", async () => {
    const { clock, one, joint } = servers("abcdefgh");
    const old = await clock.until(one("abc").acquire("r"));
    const inspection = await clock.until(joint("abc", "defgh").inspect("r"));
    expect(inspection).toMatchObject({ state: "held", owner: old.owner, label: "me" });
    expect(inspection.holders).toHaveLength(1);
    expect(inspection.sets).toEqual([
      { nodes: ["a", "b", "c"], quorum: 2 },
      { nodes: ["d", "e", "f", "g", "h"], quorum: 3 },
    ]);
    expect(await clock.until(joint("abc", "defgh").inspect("other"))).toMatchObject({ state: "free", holders: [] });
  });

  it("inspect() cannot tell when a set has too few replies, and nobody else can be seen", async () => {
    const { clock, joint, fail } = servers("abcdefgh");
    fail("ab");
    expect(await clock.until(joint("abc", "defgh").inspect("r"))).toMatchObject({ state: "unknown" });
  });

  const [old, another] = [[memoryNode()], [memoryNode()]];
  const sameName = { old: [memoryNode({ name: "x" })], new: [memoryNode({ name: "x" })] };
  it.each<[string, object, RedlockOptions, string]>([
    ["no new set", { old }, {}, "new must be a list of lock nodes, not undefined"],
    ["an empty set", { old, new: [] }, {}, "new must have at least one lock node, not none"],
    ["a quorum", { old, new: another }, { quorum: 1 }, "quorum must be left out while servers change, not 1"],
    ["nodes of one name", sameName, {}, "nodes and their names must be distinct: two are called x"],
    ["a third set", { old, new: another, next: [] }, {}, "next is not an option of a joint set"],
  ])("refuses %s", (_, set, options, message) => {
    expect(() => new Redlock(set as JointSet, options)).toThrow(message);
  });
});

describe("generations", () => {
  it.each<[unknown, ErrorConstructor, string]>([
    [-1, RangeError, "generation must be a non-negative integer below 2^50, not -1"],
    [1.5, RangeError, "generation must be a non-negative integer below 2^50, not 1.5"],
    [2 ** 50, RangeError, `generation must be a non-negative integer below 2^50, not ${2 ** 50}`],
    [Number.NaN, RangeError, "generation must be a non-negative integer below 2^50, not NaN"],
    ["1", TypeError, "generation must be a number, not a string"],
    [null, TypeError, "generation must be a number, not null"],
  ])("new Redlock() refuses the generation %j", (generation, type, message) => {
    const options = { generation: generation as number };
    const set = { old: [memoryNode({ name: "a" })], new: [memoryNode({ name: "b" })] };
    for (const make of [() => new Redlock(set.old, options), () => new Redlock(set, options)]) {
      expect(make).toThrow(type);
      expect(make).toThrow(message);
    }
  });

  it("acquire() sends the epoch of the generation and the sets, and signs with it unless it is 1", async () => {
    const { clock, named, one, joint } = servers("abc");
    const clients = [
      one("abc"),
      one("abc", { generation: 0 }),
      joint("abc", "abc"),
      one("abc", { generation: 1 }),
      joint("abc", "abc", { generation: 1 }),
      one("abc", { generation: 2 ** 50 - 1 }),
    ];
    const epochs = [undefined, undefined, 3, 5, 7, 2 ** 52 - 3];
    for (const [index, epoch] of epochs.entries()) {
      const lock = await clock.until((clients[index] as Redlock).acquire(`r${index}`));
      expect(lock.owner).toMatch(
        epoch === undefined ? /^me:[0-9a-f]{32}$/ : new RegExp(`^me:[0-9a-f]{32}\\.${epoch}$`),
      );
    }
    expect(
      named("a")[0]
        ?.callsOf("acquire")
        .map(({ request }) => request.epoch),
    ).toEqual(epochs);
  });

  it("acquire() fails at once when the nodes that serve its generation are no quorum", async () => {
    const { clock, one, node } = servers("abc");
    for (const name of "ab") await node(name).raiseFloor({ floor: 0, epoch: 3, timeoutMs: 50 });
    const attempt = clock.until(one("abc", { waitTimeoutMs: Infinity }).acquire("r"));
    await expect(attempt).rejects.toMatchObject({ code: "MISCONFIGURED", cause: { code: "EPOCH" } });
    await expect(attempt).rejects.toThrow(
      "a failed: does not serve clients of generation 0: it serves those of generation 0 with both sets",
    );
    expect(clock.pendingTimers).toBe(0);
  });

  it("acquire() succeeds while a quorum of the nodes serves its generation, and a first lock too", async () => {
    const { clock, one, node } = servers("abc");
    await node("a").raiseFloor({ floor: 0, epoch: 3, timeoutMs: 50 });
    expect((await clock.until(one("abc").acquire("r"))).fence).toBeGreaterThan(0);
  });

  it("extend() and release() of a lock go on when the nodes have left its generation behind", async () => {
    const { clock, one, node } = servers("abc");
    const lock = await clock.until(one("abc").acquire("r"));
    for (const name of "abc") await node(name).raiseFloor({ floor: 0, epoch: 3, timeoutMs: 50 });
    await clock.until(lock.extend());
    await clock.until(lock.release());
    for (const name of "abc") expect(await node(name).inspect("r")).toMatchObject({ owner: null });
  });
});

describe("names for clients", () => {
  it.each([
    [
      2,
      5,
      "does not serve clients of generation 1: it serves those of generation 0 and of generation 0 with both sets",
    ],
    [
      4,
      1,
      "does not serve clients of generation 0: it serves those of generation 0 with both sets and of generation 1",
    ],
    [5, 3, "does not serve clients of generation 0 with both sets: it serves those of generation 1"],
    [6, 2, "does not serve clients of epoch 2: it serves those of generation 1 and of generation 1 with both sets"],
  ])("EpochError names the clients that a node at epoch %i serves, and those of epoch %i", (node, client, message) => {
    expect(new EpochError(node, client).message).toBe(message);
  });

  it("servedBy() completes what a node does", () => {
    expect([0, 1, 4].map(servedBy)).toEqual([
      "all clients",
      "clients of generation 0",
      "clients of generation 0 with both sets and of generation 1",
    ]);
  });
});

describe("NodeSets", () => {
  it("isReachedBy() is true exactly if a majority of each set is among the nodes", () => {
    const names = [..."abcdefg"];
    const nodes: LockNode[] = names.map((name) => memoryNode({ name }));
    const subset = fc.subarray(nodes, { minLength: 1 });
    fc.assert(
      fc.property(subset, subset, fc.subarray(nodes), (old, next, some) => {
        const sets = new NodeSets({ old, new: next });
        const isMajority = (set: readonly LockNode[]) =>
          2 * set.filter((node) => some.includes(node)).length > set.length;
        const verdicts = sets.nodes.map((node) => (some.includes(node) ? verdict.yes : verdict.no));
        expect(sets.majority.isReachedBy(verdicts, verdict.yes)).toBe(isMajority(old) && isMajority(next));
      }),
    );
  });
});

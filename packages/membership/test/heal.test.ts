import { Redlock } from "@holdfast/core";
import { heal, type MembershipProgress } from "@holdfast/membership";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { FaultyNode, fuzzSeed, VirtualClock } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withWallClock } from "./wall-clock.ts";

fc.configureGlobal({ seed: fuzzSeed });

/** Nodes that can lose all they keep, behind faulty networks. */
function servers(names: string, counters?: number) {
  const clock = new VirtualClock();
  const inner = new Map<string, MemoryNode>();
  const start = (name: string) => inner.set(name, memoryNode({ name, clock, counters }));
  for (const name of names) start(name);
  const nodes = [...names].map((name) => {
    const current = new Proxy({ name }, { get: (_, member) => Reflect.get(inner.get(name) as MemoryNode, member) });
    return new FaultyNode(current as MemoryNode, clock);
  });
  return {
    clock,
    nodes,
    node: (name: string) => nodes.find((node) => node.name === name) as FaultyNode,
    inner: (name: string) => inner.get(name) as MemoryNode,
    loseAll: (name: string) => void start(name),
    lock: async (some: string, resource: string, wallMs = 1_000) => {
      for (const node of nodes) {
        if (!some.includes(node.name)) node.fault = () => ({ reject: new Error("down") });
      }
      const redlock = new Redlock(nodes, { clock: withWallClock(clock, wallMs), nodeTimeoutMs: 50 });
      const lock = await clock.until(redlock.acquire(resource));
      await clock.until(lock.release());
      for (const node of nodes) node.fault = () => undefined;
      return lock.fence;
    },
  };
}

const quick = { settleMs: 0, nodeTimeoutMs: 50 };

describe("heal()", () => {
  it("heal() reads N - q + 1 of the other nodes, and does without the rest", async () => {
    const { clock, nodes, node, lock } = servers("abcde");
    const before = await lock("abcde", "r", 1_000_000);
    node("a").fault = () => ({ reject: new Error("down") });
    expect((await clock.until(heal(nodes, "e", { ...quick, clock }))).read).toEqual(["b", "c", "d"]);
    node("b").fault = () => ({ lose: "reply" });
    const failure = clock.until(heal(nodes, "e", { ...quick, clock }));
    await expect(failure).rejects.toMatchObject({ code: "MEMBERSHIP" });
    await expect(failure).rejects.toThrow(
      "could not read the counters to heal e: 2 of 4 other nodes did, 3 needed; a failed: down; b failed: timed out after 50 ms (nodeTimeoutMs)",
    );
    expect(before).toBeGreaterThan(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it("heal() of several nodes reads none of them, and refuses if too few others are left", async () => {
    const { clock, nodes } = servers("abcde");
    expect((await clock.until(heal(nodes, ["a", "b"], { ...quick, clock }))).read).toEqual(["c", "d", "e"]);
    await expect(heal(nodes, ["a", "b", "c"], { ...quick, clock })).rejects.toThrow(
      "could not heal a, b, c: 2 other nodes are left, 3 needed",
    );
    await expect(heal([memoryNode({ name: "x" })], "x", { clock })).rejects.toThrow("0 other nodes are left, 1 needed");
  });

  it("heal() names the nodes it has read that keep nothing, unlike others: they may have lost their counters as well", async () => {
    const { clock, nodes, inner, lock, loseAll } = servers("abcde");
    expect(await clock.until(heal(nodes, "e", { ...quick, clock }))).toMatchObject({ empty: [] });
    await lock("abcde", "r");
    loseAll("b");
    await inner("c").raiseFloor({ floor: 5_000, epoch: 0, timeoutMs: 50 });
    const healing = heal(nodes, "e", { clock, settleMs: 10_000 });
    await clock.advance(5_000);
    await inner("b").acquire({ resources: ["r"], owner: "later", ttlMs: 1_000, fenceHint: 1, timeoutMs: 50 });
    expect(await clock.until(healing)).toMatchObject({ read: ["a", "b", "c", "d"], empty: ["b"] });
    expect(await clock.until(heal(nodes, ["b", "e"], { ...quick, clock }))).toMatchObject({ empty: [] });
  });

  it("heal() expects nothing of nodes that join a set, until the clients may leave the old one", async () => {
    const { clock, nodes, inner, lock, loseAll } = servers("abcde");
    await lock("abc", "r");
    for (const name of "de") loseAll(name);
    const joint = { old: nodes.slice(0, 3), new: nodes.slice(2) };
    expect(await clock.until(heal(joint, "c", { ...quick, clock }))).toMatchObject({ empty: [] });
    await inner("d").raiseFloor({ floor: 5_000, epoch: 4, timeoutMs: 50 });
    expect(await clock.until(heal(joint, "c", { ...quick, clock }))).toMatchObject({ empty: ["e"] });
  });

  it("heal() takes the floors and the highest epoch of the other nodes over", async () => {
    const { clock, nodes, inner } = servers("abc");
    await inner("a").raiseFloor({ floor: 5_000, epoch: 3, timeoutMs: 50 });
    expect(await clock.until(heal(nodes, "c", { ...quick, clock }))).toMatchObject({ floor: 5_001, epoch: 3 });
    expect(await inner("c").raiseFloor({ floor: 0, epoch: 0, timeoutMs: 50 })).toEqual({ floor: 5_001, epoch: 3 });
  });

  it("heal() reads the others of each set that has the node, while servers change", async () => {
    const { clock, nodes, lock } = servers("abcde");
    await lock("abcde", "r", 1_000_000);
    const joint = { old: nodes.slice(0, 3), new: nodes.slice(2) };
    expect((await clock.until(heal(joint, "c", { ...quick, clock }))).read).toEqual(["a", "b", "d", "e"]);
    expect((await clock.until(heal(joint, "a", { ...quick, clock }))).read).toEqual(["b", "c"]);
  });

  it("heal() makes tokens grow again where all resources share a counter, which the floor raises", async () => {
    const { clock, nodes, inner, lock, loseAll } = servers("abc", 1);
    const before = await lock("ac", "r", 1_000_000);
    const other = await lock("ac", "other");
    loseAll("c");
    const healed = await clock.until(heal(nodes, "c", { ...quick, clock }));
    expect(healed.floor).toBe(Math.max(before, other) + 1);
    expect((await inner("c").inspect("never claimed")).fence).toBe(healed.floor);
    expect(await lock("bc", "r")).toBeGreaterThan(healed.floor);
    expect(await lock("bc", "other")).toBeGreaterThan(healed.floor);
  });

  it("heal() asks for no claims", async () => {
    const { clock, nodes, node } = servers("abc");
    await clock.until(heal(nodes, "c", { ...quick, clock }));
    for (const name of "ab") {
      const requests = node(name)
        .callsOf("scan")
        .map(({ request }) => request);
      expect(requests).toMatchObject([{ claims: false }]);
    }
  });

  it("heal() reads again after settleMs, for attempts that were in progress when the node lost its counters", async () => {
    const { clock, nodes, inner } = servers("abc");
    const progress: MembershipProgress[] = [];
    const healing = heal(nodes, "c", { clock, settleMs: 10_000, onProgress: (event) => void progress.push(event) });
    await clock.advance(5_000);
    const late = { resources: ["r"], owner: "late", ttlMs: 1_000, fenceHint: 7_000, timeoutMs: 50 };
    await inner("b").acquire(late);
    expect(await clock.until(healing)).toMatchObject({ floor: 7_001 });
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(10_000);
    expect(progress.map(({ doing }) => doing)).toEqual(["reading", "reading", "waiting", "reading", "reading"]);
  });

  it("heal() repeats requests that fail, and goes on after the portions that it has", async () => {
    const { clock, nodes, node, inner } = servers("abc");
    for (let index = 0; index < 3_000; index++) {
      await inner("a").acquire({ resources: [`r${index}`], owner: "o", ttlMs: 1, fenceHint: index + 1, timeoutMs: 50 });
    }
    let failures = 0;
    node("a").fault = ({ method }) => (method === "scan" && failures++ % 2 === 1 ? { lose: "reply" } : undefined);
    const healed = await clock.until(heal(nodes, "c", { ...quick, clock }));
    expect(healed.floor).toBe(3_001);
    expect(node("a").callsOf("scan").length).toBeLessThan(10);
  });

  it("heal() ends with the reason of its signal, and leaves no timer", async () => {
    const { clock, nodes, node } = servers("abc");
    node("a").fault = () => ({ lose: "reply" });
    const controller = new AbortController();
    const healing = heal(nodes, "c", { clock, signal: controller.signal });
    await clock.advance(10);
    controller.abort(new Error("enough"));
    await expect(clock.until(healing)).rejects.toThrow("enough");
    expect(clock.pendingTimers).toBe(0);
    await expect(heal(nodes, "c", { clock, signal: controller.signal })).rejects.toThrow("enough");
  });

  it("heal() refuses a node or a name that is listed twice, as it would count twice", async () => {
    const { clock, nodes } = servers("abc");
    const [a, b, c] = nodes as [FaultyNode, FaultyNode, FaultyNode];
    const twin = memoryNode({ name: "b" });
    await expect(heal([b, b, c], "c", { clock })).rejects.toThrow("nodes and their names must be distinct");
    await expect(heal([b, twin, c], "c", { clock })).rejects.toThrow("two are called b");
    await expect(heal({ old: [a, b], new: [twin, c] }, "c", { clock })).rejects.toThrow("two are called b");
  });

  it("heal() does not believe a node that confirms a lower floor", async () => {
    const { clock, nodes, node, inner } = servers("abc");
    await inner("a").raiseFloor({ floor: 10, epoch: 0, timeoutMs: 50 });
    node("c").fault = ({ method }) => (method === "raiseFloor" ? { answer: { floor: 10, epoch: 0 } } : undefined);
    await expect(clock.until(heal(nodes, "c", { ...quick, clock }))).rejects.toThrow(
      "could not heal c: 0 of 1 nodes did, 1 needed; c failed: answered raiseFloor() without raising",
    );
  });

  it.each<[string, unknown]>([
    ["something else", { counters: 1, highest: 1, claims: [null] }],
    ["the cursor that it was given", { counters: 1, highest: 1, claims: [], cursor: "again" }],
  ])("heal() rejects a scan that answers with %s", async (what, answer) => {
    const { clock, nodes, node } = servers("abc");
    node("b").fault = ({ method }) => (method === "scan" ? { answer } : undefined);
    await expect(clock.until(heal(nodes, "c", { ...quick, clock }))).rejects.toThrow(
      `b failed: answered scan() with ${what}`,
    );
  });

  it("heal() can be ended while a node answers without I/O and without an end", async () => {
    const { clock, nodes, node } = servers("abc");
    let portions = 0;
    node("b").fault = ({ method }) =>
      method === "scan" ? { answer: { counters: 1, highest: 1, claims: [], cursor: `${portions++}` } } : undefined;
    const controller = new AbortController();
    clock.startTimer(10, () => controller.abort(new Error("enough")));
    const afterPendingIo = (callback: () => void) => clock.deliver(1, callback);
    const healing = heal(nodes, "c", { ...quick, clock: { ...clock, afterPendingIo }, signal: controller.signal });
    await expect(clock.until(healing)).rejects.toThrow("enough");
    expect(clock.pendingTimers).toBe(0);
  });

  it("heal() goes on when onProgress throws", async () => {
    const { clock, nodes } = servers("abc");
    const onProgress = () => {
      throw new Error("a bug of the caller");
    };
    expect(await clock.until(heal(nodes, "c", { ...quick, clock, onProgress }))).toMatchObject({ read: ["a", "b"] });
  });

  it("heal() names nodes without the methods, and refuses bad arguments", async () => {
    const { clock, nodes } = servers("abc");
    const { raiseFloor, ...without } = memoryNode({ name: "d" });
    expect(raiseFloor).toBeTypeOf("function");
    await expect(clock.until(heal([...nodes.slice(0, 2), without], "d", { ...quick, clock }))).rejects.toThrow(
      "could not heal d: 0 of 1 nodes did, 1 needed; d failed: does not implement raiseFloor() and scan()",
    );
    await expect(heal(nodes, "z")).rejects.toThrow(RangeError);
    await expect(heal(nodes, [])).rejects.toThrow(RangeError);
    await expect(heal(nodes, "c", { wait: 1 } as object)).rejects.toThrow("wait is not an option of heal");
    await expect(heal(nodes, "c", { settleMs: -1 })).rejects.toThrow("settleMs must be a positive integer");
  });

  it("heal() keeps tokens growing, whichever node lost its counters and whichever nodes grant", {
    timeout: 60_000,
  }, async () => {
    const names = "abcde";
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ quorum: fc.subarray([...names], { minLength: 3 }), wallMs: fc.nat(1_000_000) }),
      },
      { weight: 1, arbitrary: fc.record({ lost: fc.subarray([...names], { minLength: 1, maxLength: 2 }) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        const { clock, nodes, lock, loseAll } = servers(names);
        let last = 0;
        for (const next of steps) {
          if ("lost" in next) {
            for (const name of next.lost) loseAll(name);
            await clock.until(heal(nodes, next.lost, { ...quick, clock }));
            continue;
          }
          const fence = await lock(next.quorum.join(""), "r", next.wallMs);
          expect(fence).toBeGreaterThan(last);
          last = fence;
        }
      }),
      { numRuns: 60 },
    );
  });
});

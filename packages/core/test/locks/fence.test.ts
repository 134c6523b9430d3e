import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { type FaultyNode, VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { claimOf, type World, world } from "../world.ts";

const startUs = Date.UTC(2026, 0, 1) * 1000;
/** Ahead of the clients' clocks, so that a token needs a second round where counters differ. */
const ahead = startUs + 5_000_000;

/** Sets the counter of `r` on each node. */
async function setCounters(nodes: World["inner"], fenceOf: (index: number) => number): Promise<void> {
  for (const [index, each] of nodes.entries()) {
    await each.acquire({ ...claimOf("x", "r"), fenceHint: fenceOf(index) });
    await each.release(claimOf("x", "r"));
  }
}

describe("fencing tokens (S10)", () => {
  it("acquire() takes one round trip when the hint is ahead of all counters, however far apart these are", async () => {
    const { redlock, clock, nodes, inner } = world(5);
    await setCounters(inner, (index) => 1000 * (index + 1));
    const lock = await clock.until(redlock.acquire("r"));
    expect(lock.fence).toBe(startUs);
    expect(nodes.flatMap((each) => each.callsOf("extend"))).toEqual([]);
  });

  it("acquire() returns a higher fence through a second round when the client's clock is far behind", async () => {
    const { redlock, clock, nodes, inner } = world(3);
    // The counters differ and are ahead of this client's clock, so the granted fences differ.
    await setCounters(inner, (index) => ahead + index);
    const lock = await clock.until(redlock.acquire("r"));
    // a and b reply first and settle the vote with ahead + 1 and ahead + 2.
    expect(lock.fence).toBeGreaterThanOrEqual(ahead + 2);
    expect(nodes.flatMap((each) => each.callsOf("extend")).every(({ request }) => request.rejoin === false)).toBe(true);
    const holders = await Promise.all(inner.map((each) => each.inspect("r")));
    expect(holders.filter(({ fence }) => fence === lock.fence).length).toBeGreaterThanOrEqual(2);
  });

  it("acquire() takes one round trip when an earlier token was ahead of all counters, though its clock is behind", async () => {
    const { redlock, clock, nodes, inner } = world(3);
    for (const [index, each] of inner.entries()) {
      await each.acquire({ ...claimOf("x", "r"), fenceHint: ahead + index });
      await each.acquire({ ...claimOf("x", "s"), fenceHint: ahead - 1 - index });
      await each.release({ ...claimOf("x", "r"), resources: ["r", "s"] });
    }
    const { fence } = await clock.until(redlock.acquire("r"));
    const proposals = nodes.flatMap((each) => each.callsOf("extend")).length;
    expect((await clock.until(redlock.acquire("s"))).fence).toBe(fence + 1);
    expect(nodes.flatMap((each) => each.callsOf("extend"))).toHaveLength(proposals);
  });

  it("acquire() adopts a larger fence that a node replies to the proposal, and proposes that one", async () => {
    const { redlock, clock, node, inner, requests } = world(3);
    await setCounters(inner, (index) => ahead + 10 * index);
    node("c").fault = ({ method }) => (method === "acquire" ? { replyMs: 10 } : undefined);
    node("a").fault = ({ method }) => (method === "extend" ? { replyMs: 10 } : undefined);
    const lock = await clock.until(redlock.acquire("r"));
    expect(lock.fence).toBe(ahead + 21);
    expect(requests("a", "extend").map(({ fence }) => fence)).toEqual([ahead + 11, ahead + 21]);
  });

  it("acquire() rejects a token that fewer than a quorum confirmed for this claim", async () => {
    const { redlock, clock, node, nodes, inner, heldOn } = world(3, { waitTimeoutMs: 0 });
    await setCounters(inner.slice(0, 1), () => ahead);
    node("c").fault = ({ method }) => (method === "acquire" ? { lose: "request" } : undefined);
    node("b").fault = ({ method }) => (method === "extend" ? { reject: new Error("gone") } : undefined);
    await expect(clock.until(redlock.acquire("r"))).rejects.toThrow("did not agree on a fencing token");
    expect(nodes.every((each) => each.callsOf("release").length > 0)).toBe(true);
    expect(await heldOn("r")).toEqual([]);
  });

  it("acquire() neither confirms nor renews a claim that has expired meanwhile", async () => {
    const { redlock, clock, node, inner } = world(3, { waitTimeoutMs: 0, ttlMs: 100, nodeTimeoutMs: 40 });
    await setCounters(inner.slice(0, 1), () => ahead);
    node("c").fault = () => ({ lose: "request" });
    // b loses its claims between the two rounds.
    node("b").fault = ({ method, request }) => {
      if (method === "extend") void inner[1]?.release(request);
      return undefined;
    };
    await expect(clock.until(redlock.acquire("r"))).rejects.toThrow("did not agree on a fencing token");
    expect((await inner[1]?.inspect("r"))?.owner).toBeNull();
  });

  it("acquire() proposes a bounded number of times when a node's counter keeps increasing", async () => {
    const { redlock, clock, node, inner } = world(3, { waitTimeoutMs: 0 });
    await setCounters(inner.slice(0, 1), () => ahead);
    node("c").fault = () => ({ lose: "request" });
    let running = ahead;
    for (const name of ["a", "b"]) {
      node(name).fault = ({ method }) => {
        running += 100;
        return method === "extend" ? { answer: { held: true, fence: running } } : undefined;
      };
    }
    await expect(clock.until(redlock.acquire("r"))).rejects.toThrow("did not agree on a fencing token");
    expect(node("b").callsOf("extend").length + node("a").callsOf("extend").length).toBe(12);
  });

  it("acquire() goes on proposing while other resources advance their shared counter", async () => {
    const { redlock, clock, node, inner } = world(3, { waitTimeoutMs: 0 });
    await setCounters(inner.slice(0, 1), () => ahead);
    node("c").fault = () => ({ lose: "request" });
    let counter = ahead;
    const advance: FaultyNode["fault"] = ({ method }) => {
      counter += 100;
      return method === "extend" && counter < ahead + 1000 ? { answer: { held: true, fence: counter } } : undefined;
    };
    node("a").fault = advance;
    node("b").fault = advance;
    const { fence } = await clock.until(redlock.acquire("r"));
    expect(fence).toBe(ahead + 900);
  });

  it("acquire() measures the validity after the last round", async () => {
    const { redlock, clock, nodes, inner } = world(3, { ttlMs: 1000 });
    await setCounters(inner.slice(0, 1), () => ahead);
    for (const each of nodes) each.fault = () => ({ replyMs: 20 });
    const lock = await clock.until(redlock.acquire("r"));
    expect(clock.monotonicMs()).toBe(40);
    expect(lock.remainingMs()).toBeCloseTo(1000 - 12 - 40, 3);
  });

  it("extend() keeps the token, and raises lower counters", async () => {
    const { redlock, clock, node, inner } = world(3);
    node("c").fault = ({ method }) => (method === "acquire" ? { reject: new Error("down") } : undefined);
    const lock = await clock.until(redlock.acquire("r"));
    const { fence } = lock;
    await clock.until(lock.extend());
    expect(lock.fence).toBe(fence);
    expect((await inner[2]?.inspect("r"))?.fence).toBeGreaterThanOrEqual(fence);
  });

  it("acquire() returns increasing fences although the clocks of clients and nodes differ by an hour", async () => {
    const clocks = [0, 3_600_000, -3_600_000].map((offset) => new VirtualClock(Date.UTC(2026, 0, 1) + offset));
    const nodes = clocks.map((clock, index) => memoryNode({ name: `n${index}`, clock }));
    const clients = clocks.map((clock) => new Redlock(nodes, { clock }));
    const fences: number[] = [];
    for (let round = 0; round < 20; round++) {
      const lock = await (clients[(round * 7) % 3] as Redlock).acquire("r");
      fences.push(lock.fence);
      await lock.release();
    }
    for (const [index, fence] of fences.slice(1).entries()) expect(fence).toBeGreaterThan(fences[index] as number);
  });

  it("acquire() with a clock far in the future cannot exhaust the number range", async () => {
    const { inner, clock, redlock } = world(3);
    const insane = new Redlock(inner, { clock: new VirtualClock(8.6e15) });
    const lock = await insane.acquire("r");
    expect(lock.fence).toBeLessThanOrEqual((Date.UTC(2026, 0, 1) + 86_400_000) * 1000);
    await lock.release();
    const next = await clock.until(redlock.acquire("r"));
    expect(next.fence).toBeGreaterThan(lock.fence);
  });

  /** A world whose counters differ, so that the token needs a second round, to which no node replies. */
  async function secondRoundHangs(nodeTimeoutMs: number) {
    const it = world(3, { waitTimeoutMs: 0, ttlMs: 1000, nodeTimeoutMs });
    await setCounters(it.inner, (index) => ahead + 10 * index);
    for (const node of it.nodes) {
      node.fault = ({ method }) => {
        if (method === "extend") return { lose: "request" };
        return method === "acquire" ? { replyMs: 300 } : undefined;
      };
    }
    return it;
  }

  it("acquire() stops proposing tokens when its signal aborts", async () => {
    const { redlock, clock, nodes } = await secondRoundHangs(400);
    const controller = new AbortController();
    const pending = redlock.acquire("r", { signal: controller.signal });
    await clock.advance(350);
    expect(nodes[0]?.callsOf("extend")).toHaveLength(1);
    controller.abort(new Error("enough"));
    await expect(clock.until(pending)).rejects.toThrow("enough");
    expect(clock.monotonicMs()).toBe(350);
  });

  it("acquire() stops proposing tokens when the validity ends", async () => {
    const { redlock, clock } = await secondRoundHangs(900);
    await expect(clock.until(redlock.acquire("r"))).rejects.toThrow("did not agree on a fencing token");
    expect(clock.monotonicMs()).toBe(1000 - 12);
  });

  it("acquire() spends one nodeTimeoutMs on proposing tokens, however many rounds that takes", async () => {
    const { redlock, clock, nodes, inner } = world(3, { waitTimeoutMs: 0, nodeTimeoutMs: 100 });
    await setCounters(inner, (index) => ahead + 10 * index);
    // Each node replies late to a proposal, and with a higher fence, so that no round agrees.
    let fence = ahead + 1000;
    for (const node of nodes) {
      node.fault = ({ method }) => {
        if (method !== "extend") return { replyMs: 90 };
        fence += 10;
        return { replyMs: 60, answer: { held: true, fence } };
      };
    }
    await expect(clock.until(redlock.acquire("r"))).rejects.toThrow("did not agree on a fencing token");
    expect(clock.monotonicMs()).toBe(90 + 100);
  });
});

describe("fencing tokens of locks on several resources, where others share their counters (S10)", () => {
  const inFront = startUs + 50_000;
  // With sixteen counters, s6 shares that of r1, and r2 has another one.
  const shareOne = { resources: ["s6"], ttlMs: 1_000, timeoutMs: 50 };

  /** Nodes with shared counters, and a client of its own for each lock, as the clients' clocks differ. */
  function counting() {
    const clock = new VirtualClock();
    const [a, b, c] = ["a", "b", "c"].map((name) => memoryNode({ name, clock, counters: 16 })) as [Node, Node, Node];
    return { clock, a, b, c, by: (...nodes: Node[]) => new Redlock(nodes, { clock }) };
  }
  type Node = ReturnType<typeof memoryNode>;
  type Claim = Parameters<Node["acquire"]>[0];

  /** Advances the counter that s6 and r1 share. */
  async function advance(node: Node, fenceHint: number): Promise<void> {
    const owner = `other ${fenceHint}`;
    await node.acquire({ ...shareOne, owner, fenceHint });
    await node.release({ ...shareOne, owner });
  }

  /** Lets a node execute each claim twice, and reply to the second one, as if the first reply had been lost. */
  function repeating(node: Node, meanwhile: (request: Claim) => Promise<unknown>): Node {
    const acquire = async (request: Claim) => {
      await node.acquire(request);
      await meanwhile(request);
      return node.acquire(request);
    };
    return { ...node, acquire };
  }

  const down = async () => Promise.reject(new Error("it is down"));

  it("acquire() does not take a repeated grant for agreed, as it reports only the highest counter", async () => {
    const { clock, a, by } = counting();
    const lock = await clock.until(by(repeating(a, () => advance(a, inFront))).acquire(["r1", "r2"]));
    await clock.until(lock.release());
    expect((await clock.until(by(a).acquire("r2"))).fence).toBeGreaterThan(lock.fence);
  });

  it("acquire() does not take a repeated grant for agreed where the claim joined sharers below the hint", async () => {
    const { clock, a, b, c, by } = counting();
    const nodes = [a, b, c];
    const claim = { resources: ["r1", "r2"], shared: true, ttlMs: 1_000, timeoutMs: 50 };
    // Another sharer of one of the names agrees with other nodes on the very number that this claim asked for.
    const agree = async (node: Node, { fenceHint }: Claim) => {
      const other = { ...claim, resources: ["r2"], owner: "other" };
      await node.acquire({ ...other, fenceHint: 1 });
      await node.extend({ ...other, fence: fenceHint, rejoin: false });
    };
    for (const node of nodes) await node.acquire({ ...claim, owner: "first", fenceHint: 1 });
    const redlock = by(...nodes.map((node) => repeating(node, (request) => agree(node, request))));
    const lock = await clock.until(redlock.acquire(["r1", "r2"], { mode: "shared" }));
    const counters = await Promise.all(nodes.map(async (node) => (await node.inspect("r1")).fence));
    expect(counters.filter((fence) => fence === lock.fence).length).toBeGreaterThanOrEqual(2);
  });

  it("acquire() does not take a repeated grant for agreed where the node has capped the hint", async () => {
    const { clock, a, b, c, by } = counting();
    const dayUs = 86_400_000_000;
    const fast = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs() + (3 * dayUs) / 1000,
      startTimer: clock.startTimer.bind(clock),
      afterPendingIo: clock.afterPendingIo.bind(clock),
    };
    // The counters of b are so close to the hint that b does not cap it.
    for (const resource of ["r1", "r2"]) {
      const near = { ...shareOne, resources: [resource], owner: resource };
      await b.acquire({ ...near, fenceHint: 1 });
      await b.extend({ ...near, fence: startUs + 3 * dayUs - 1_000, rejoin: false });
      await b.release(near);
    }
    const again = repeating(a, async ({ fenceHint }) => {
      // Another lock has agreed on this very number, for a resource that shares the counter of r1.
      const other = { ...shareOne, owner: "other" };
      await a.acquire({ ...other, fenceHint: 1 });
      await a.extend({ ...other, fence: fenceHint, rejoin: false });
      await a.release(other);
    });
    const first = new Redlock([again, b, { ...c, acquire: down }], { clock: fast });
    const lock = await clock.until(first.acquire(["r1", "r2"]));
    await clock.until(lock.release());
    const next = by(a, { ...b, acquire: down, extend: down }, c);
    expect((await clock.until(next.acquire("r2"))).fence).toBeGreaterThan(lock.fence);
  });

  it("acquire() asks a node again that reported more than the proposal, as its other counters may be lower", async () => {
    const { clock, a, b, c, by } = counting();
    await advance(a, startUs + 1_000);
    let isFirst = true;
    const extend = async (request: Parameters<Node["extend"]>[0]) => {
      if (isFirst) for (const node of [a, b, c]) await advance(node, inFront);
      isFirst = false;
      return b.extend(request);
    };
    const silent = { ...c, extend: () => new Promise<never>(() => {}) };
    const lock = await clock.until(by(a, { ...b, extend }, silent).acquire(["r1", "r2"]));
    await clock.until(lock.release());
    expect((await clock.until(by({ ...a, acquire: down }, b, c).acquire("r2"))).fence).toBeGreaterThan(lock.fence);
  });
});

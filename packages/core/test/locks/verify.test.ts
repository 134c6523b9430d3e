import { type Lock, type LockNode, Redlock } from "@holdfast/core";
import { verify } from "@holdfast/core/verify";
import { memoryNode } from "@holdfast/memory";
import { FaultyNode, fuzzSeed, VirtualClock } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { claimOf, type World, world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

const down = () => ({ reject: new Error("down") });

describe("verify()", () => {
  it("verify() returns current for the token of a held lock, and still after its release", async () => {
    const { redlock, clock } = world(3);
    const lock = await redlock.acquire("r");
    const whileHeld = await clock.until(verify(redlock, "r", lock.fence));
    await clock.until(lock.release());
    expect(whileHeld).toMatchObject({
      resource: "r",
      fence: lock.fence,
      state: "current",
      newest: lock.fence,
      sets: [{ nodes: ["a", "b", "c"], quorum: 2 }],
    });
    expect(whileHeld.nodes.map(({ node, view }) => [node, view?.fence])).toEqual(
      ["a", "b", "c"].map((name) => [name, lock.fence]),
    );
    expect(await clock.until(verify(redlock, "r", lock.fence))).toMatchObject({ state: "current" });
  });

  it("verify() returns superseded once another lock was granted, also after that has ended", async () => {
    const { redlock, clock } = world(3);
    const old = await redlock.acquire("r");
    await clock.until(old.release());
    const newer = await clock.until(redlock.acquire("r"));
    const { state, newest } = await clock.until(verify(redlock, "r", old.fence));
    await clock.until(newer.release());
    expect({ state, newest }).toEqual({ state: "superseded", newest: newer.fence });
    expect(await clock.until(verify(redlock, "r", old.fence))).toMatchObject({ state: "superseded" });
  });

  it("verify() returns superseded when a single node that replies has a higher counter", async () => {
    const { redlock, clock, inner, node } = world(3);
    const lock = await redlock.acquire("r");
    await clock.until(lock.release());
    await inner[2]?.acquire(claimOf("an attempt that fails", "r"));
    for (const name of ["a", "b"]) node(name).fault = down;
    expect(await clock.until(verify(redlock, "r", lock.fence))).toMatchObject({ state: "superseded" });
  });

  it("verify() returns unknown when fewer than a quorum reply, and current when a quorum does", async () => {
    const { redlock, clock, node } = world(5);
    const lock = await redlock.acquire("r");
    for (const name of ["a", "b"]) node(name).fault = down;
    expect(await clock.until(verify(redlock, "r", lock.fence))).toMatchObject({ state: "current" });
    node("c").fault = () => ({ lose: "request" });
    expect(await clock.until(verify(redlock, "r", lock.fence))).toMatchObject({ state: "unknown" });
  });

  it("verify() returns unknown for a token that no node knows, as one of another resource", async () => {
    const { redlock, clock } = world(3);
    const lock = await redlock.acquire("r");
    expect(await clock.until(verify(redlock, "r", lock.fence + 1))).toMatchObject({
      state: "unknown",
      newest: lock.fence,
    });
    expect(await clock.until(verify(redlock, "other", lock.fence))).toMatchObject({ state: "unknown", newest: 0 });
  });

  it("verify() waits for the quorum that its Redlock asks for", async () => {
    const { clock, nodes, node } = world(3);
    const redlock = new Redlock(nodes, { clock, quorum: 3, nodeTimeoutMs: 50 });
    const lock = await redlock.acquire("r");
    node("a").fault = down;
    expect(await clock.until(verify(redlock, "r", lock.fence))).toMatchObject({
      state: "unknown",
      sets: [{ quorum: 3 }],
    });
  });

  it("verify() rejects bad arguments, and changes nothing on the nodes", async () => {
    const { redlock, nodes } = world(3);
    await expect(verify({} as Redlock, "r", 1)).rejects.toThrow("redlock must be an object with the method inspect");
    await expect(verify(redlock, "r", "1" as never)).rejects.toThrow(TypeError);
    await expect(verify(redlock, "r", 0)).rejects.toThrow("fence must be a positive integer, not 0");
    await expect(verify(redlock, "", 1)).rejects.toThrow(RangeError);
    expect(nodes[0]?.calls).toEqual([]);
    await verify(redlock, "r", 1);
    expect(nodes.flatMap(({ calls }) => calls.map(({ method }) => method))).toEqual(["inspect", "inspect", "inspect"]);
  });
});

/** The next event: a client acquires or releases, or time passes; and which nodes are down meanwhile, and after. */
const anyStep = fc.record({
  act: fc.constantFrom("acquire", "acquire", "release", "pass"),
  client: fc.nat(2),
  passMs: fc.integer({ min: 0, max: 700 }),
  down: fc.array(fc.nat(4), { maxLength: 2 }),
  downAfter: fc.uniqueArray(fc.nat(4), { maxLength: 4 }),
  /** The wall clock jumps, and with it the proposed tokens. */
  jumpMs: fc.integer({ min: -5_000, max: 5_000 }),
});
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

/** The same with readers and writers, and with nodes that restart empty. */
const anyLossyStep = fc.record({
  client: fc.nat(2),
  mode: fc.constantFrom("exclusive" as const, "shared" as const),
  isReleased: fc.boolean(),
  /** Two quorums of 4 nodes share 3, of which these are 2. */
  restarted: fc.subarray([0, 1]),
  down: fc.uniqueArray(fc.nat(4), { maxLength: 1 }),
  downAfter: fc.uniqueArray(fc.nat(4), { maxLength: 2 }),
  jumpMs: fc.integer({ min: -5_000, max: 5_000 }),
  passMs: fc.integer({ min: 0, max: 700 }),
});

/** Returns a node that can restart without its claims and counters. */
function restartable(create: () => LockNode): LockNode & { restart(): void } {
  let node = create();
  return {
    name: node.name,
    acquire: (request) => node.acquire(request),
    extend: (request) => node.extend(request),
    release: (request) => node.release(request),
    inspect: (resource) => (node.inspect as NonNullable<LockNode["inspect"]>)(resource),
    restart() {
      node = create();
    },
  };
}

/** Plays the steps, and calls `check` with the locks granted so far, oldest first, after each. */
async function play(steps: readonly Step[], check: (it: World, granted: readonly Lock[]) => Promise<void>) {
  const it = world(5, { ttlMs: 1_000, waitTimeoutMs: 0 });
  const options = { clock: it.clock, nodeTimeoutMs: 50, ttlMs: 1_000, waitTimeoutMs: 0 };
  const clients = [it.redlock, new Redlock(it.nodes, options), new Redlock(it.nodes, options)];
  const granted: Lock[] = [];
  const stop = (stopped: readonly number[]) => {
    for (const [index, node] of it.nodes.entries()) node.fault = stopped.includes(index) ? down : () => undefined;
  };
  for (const { act, client, passMs, down: downNodes, downAfter, jumpMs } of steps) {
    stop(downNodes);
    it.clock.stepWall(jumpMs);
    if (act === "acquire") {
      const lock = await it.clock.until((clients[client] as Redlock).acquire("r").catch(() => undefined));
      if (lock) granted.push(lock);
    }
    if (act === "release")
      await it.clock.until(
        granted
          .at(-1)
          ?.release()
          .catch(() => {}) ?? Promise.resolve(),
      );
    if (act === "pass") await it.clock.advance(passMs);
    stop(downAfter);
    await check(it, granted);
  }
}

describe("verify() among locks and failed attempts", { timeout: 60_000 }, () => {
  it("verify() never returns current once a newer lock was granted, whichever nodes reply", async () => {
    let current = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 20 }), async (steps) => {
        await play(steps, async ({ clock, redlock }, granted) => {
          for (const [index, { fence }] of granted.entries()) {
            const { state, nodes, sets } = await clock.until(verify(redlock, "r", fence));
            const replies = nodes.filter(({ view }) => view !== null).length;
            if (index < granted.length - 1) expect(state).not.toBe("current");
            else if (replies >= (sets[0]?.quorum ?? 0)) expect(state).not.toBe("unknown");
            if (state === "current") current += 1;
          }
        });
      }),
      { numRuns: 100 },
    );
    expect(current).toBeGreaterThan(100); // or the property would hold of a function that never says so
  });

  it("verify() never misses a newer lock while any two quorums share a node that keeps its counters", async () => {
    let current = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyLossyStep, { minLength: 4, maxLength: 20 }), async (steps) => {
        const clock = new VirtualClock();
        const inner = ["a", "b", "c", "d", "e"].map((name) => restartable(() => memoryNode({ name, clock })));
        const nodes = inner.map((node) => new FaultyNode(node, clock));
        const options = { clock, nodeTimeoutMs: 50, ttlMs: 1_000, waitTimeoutMs: 0, quorum: 4 };
        const clients = [1, 2, 3].map(() => new Redlock(nodes, options));
        const granted: Lock[] = [];
        const stop = (stopped: readonly number[]) => {
          for (const [index, node] of nodes.entries()) node.fault = stopped.includes(index) ? down : () => undefined;
        };
        for (const { client, mode, isReleased, restarted, down: downNodes, downAfter, jumpMs, passMs } of steps) {
          const redlock = clients[client] as Redlock;
          stop(downNodes);
          clock.stepWall(jumpMs);
          const lock = await clock.until(redlock.acquire("r", { mode }).catch(() => undefined));
          if (lock) granted.push(lock);
          for (const index of restarted) inner[index]?.restart();
          stop(downAfter);
          for (const { fence } of granted) {
            const { state } = await clock.until(verify(redlock, "r", fence));
            if (granted.some((newer) => newer.fence > fence)) expect(state).not.toBe("current");
            if (state === "current") current += 1;
          }
          stop([]);
          if (lock && isReleased) await clock.until(lock.release().catch(() => {}));
          await clock.advance(passMs);
        }
      }),
      { numRuns: 100 },
    );
    expect(current).toBeGreaterThan(100);
  });

  it("verify() returns current for a superseded token where the nodes have lost the newer counters", async () => {
    const { redlock, clock, nodes } = world(3);
    const old = await redlock.acquire("r");
    await clock.until(old.release());
    await clock.until((await clock.until(redlock.acquire("r"))).release());
    const lost = { owner: null, remainingMs: null, fence: old.fence }; // as after a restart from an older snapshot
    for (const node of nodes) node.fault = ({ method }) => (method === "inspect" ? { answer: lost } : undefined);
    expect(await clock.until(verify(redlock, "r", old.fence))).toMatchObject({ state: "current" });
  });
});

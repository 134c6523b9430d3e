import { type Lock, type LockNode, Redlock } from "@holdfast/core";
import { verify } from "@holdfast/core/verify";
import { fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { claimOf, held, type World, world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

const down = () => ({ reject: new Error("down") });

describe("verify()", () => {
  it("verify() returns held for a held lock, and not-held once it is released", async () => {
    const { lock, redlock, clock } = await held(3);
    const { owner, fence } = lock;
    const whileHeld = await clock.until(verify(redlock, "r", lock));
    await clock.until(lock.release());
    expect(whileHeld).toMatchObject({
      ...{ resource: "r", owner, fence, state: "held", remainingMs: expect.closeTo(10_000, -2) },
      sets: [{ nodes: ["a", "b", "c"], quorum: 2 }],
    });
    expect(whileHeld.nodes.map(({ node, view }) => [node, view?.fence])).toEqual(
      ["a", "b", "c"].map((name) => [name, fence]),
    );
    const after = await clock.until(verify(redlock, "r", { owner, fence }));
    expect(after).toMatchObject({ state: "not-held", remainingMs: null });
  });

  it("verify() does not count a node that only an attempt has claimed", async () => {
    const { redlock, clock, inner, node } = world(3);
    await inner[2]?.acquire(claimOf("an attempt that fails", "r"));
    const attempt = { owner: "an attempt that fails", fence: 1 };
    expect(await clock.until(verify(redlock, "r", attempt))).toMatchObject({ state: "not-held" });
    node("a").fault = down;
    expect(await clock.until(verify(redlock, "r", attempt))).toMatchObject({ state: "unknown" });
  });

  it("verify() tells as soon as the nodes that reply decide, and unknown otherwise", async () => {
    const { lock, redlock, clock, node } = await held(5);
    for (const name of ["a", "b"]) node(name).fault = down;
    expect(await clock.until(verify(redlock, "r", lock))).toMatchObject({ state: "held" });
    node("c").fault = () => ({ lose: "request" });
    expect(await clock.until(verify(redlock, "r", lock))).toMatchObject({ state: "unknown", remainingMs: null });
  });

  it("verify() returns not-held for a larger token, another resource, and another owner", async () => {
    const { redlock, clock } = world(3);
    const { owner, fence } = await redlock.acquire("r");
    for (const [resource, lock] of [
      ["r", { owner, fence: fence + 1 }],
      ["other", { owner, fence }],
      ["r", { owner: `${owner}x`, fence }],
    ] as const) {
      expect(await clock.until(verify(redlock, resource, lock))).toMatchObject({ state: "not-held" });
    }
  });

  it("verify() returns held for each of several readers, and unknown for one that the nodes may not have listed", async () => {
    const { redlock, clock, nodes } = world(3);
    const readers = await Promise.all([1, 2, 3].map(() => redlock.acquire("r", { mode: "shared" })));
    for (const reader of readers) {
      expect(await clock.until(verify(redlock, "r", reader))).toMatchObject({ state: "held" });
    }
    const sharers = Array.from({ length: 100 }, (_, index) => ({ owner: `reader ${index}`, remainingMs: 100 }));
    const answer = { ...sharers[0], fence: 9, sharers };
    for (const node of nodes) node.fault = ({ method }) => (method === "inspect" ? { answer } : undefined);
    expect(await clock.until(verify(redlock, "r", { owner: "reader 99", fence: 9 }))).toMatchObject({ state: "held" });
    expect(await clock.until(verify(redlock, "r", { owner: "another", fence: 9 }))).toMatchObject({ state: "unknown" });
  });

  it("verify() needs a quorum of both sets while the servers change", async () => {
    const { clock, nodes } = world(4);
    const [a, b, c, d] = nodes as readonly LockNode[] as [LockNode, LockNode, LockNode, LockNode];
    const options = { clock, nodeTimeoutMs: 50 };
    const joint = new Redlock({ old: [a, b, c], new: [d] }, options);
    const lock = await clock.until(joint.acquire("r"));
    const [before, after] = [new Redlock([a, b, c], options), new Redlock([d], { ...options, generation: 1 })];
    for (const redlock of [joint, before, after]) {
      expect(await clock.until(verify(redlock, "r", lock))).toMatchObject({ state: "held" });
    }
    await d.release({ resources: ["r"], owner: lock.owner, timeoutMs: 50 });
    expect(await clock.until(verify(joint, "r", lock))).toMatchObject({ state: "not-held" });
    expect(await clock.until(verify(before, "r", lock))).toMatchObject({ state: "held" });
  });

  it("verify() waits for the quorum that its Redlock asks for", async () => {
    const { clock, nodes, node } = world(3);
    const redlock = new Redlock(nodes, { clock, quorum: 3, nodeTimeoutMs: 50 });
    const lock = await redlock.acquire("r");
    node("a").fault = down;
    expect(await clock.until(verify(redlock, "r", lock))).toMatchObject({ state: "unknown", sets: [{ quorum: 3 }] });
  });

  it("verify() rejects bad arguments, and changes nothing on the nodes", async () => {
    const { redlock, nodes } = world(3);
    const lock = { owner: "me", fence: 1 };
    await expect(verify({} as Redlock, "r", lock)).rejects.toThrow("redlock must be an object with the method inspect");
    await expect(verify(redlock, "r", 1 as never)).rejects.toThrow("owner must be a string, not undefined");
    await expect(verify(redlock, "r", undefined as never)).rejects.toThrow("owner must be a string, not undefined");
    await expect(verify(redlock, "r", { ...lock, owner: "" })).rejects.toThrow("owner must not be empty");
    await expect(verify(redlock, "r", { ...lock, fence: "1" as never })).rejects.toThrow(TypeError);
    await expect(verify(redlock, "r", { ...lock, fence: 0 })).rejects.toThrow(
      "fence must be a positive integer, not 0",
    );
    await expect(verify(redlock, "", lock)).rejects.toThrow(RangeError);
    expect(nodes[0]?.calls).toEqual([]);
    await verify(redlock, "r", lock);
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
  it("verify() returns held for the newest lock only, and not-held for none that is still valid, whichever nodes reply", async () => {
    const seen = { held: 0, "not-held": 0, unknown: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 20 }), async (steps) => {
        await play(steps, async ({ clock, redlock }, granted) => {
          for (const [index, lock] of granted.entries()) {
            const { state, nodes, sets } = await clock.until(verify(redlock, "r", lock));
            seen[state] += 1;
            if (index < granted.length - 1) expect(state).not.toBe("held");
            if (lock.remainingMs() > 0) expect(state).not.toBe("not-held");
            const replies = nodes.filter(({ view }) => view !== null).length;
            if (replies === nodes.length) expect(state).not.toBe("unknown");
            if (replies < (sets[0]?.quorum ?? 0)) expect(state).toBe("unknown");
          }
        });
      }),
      { numRuns: 100 },
    );
    // Or the property would hold of a function that never says so.
    for (const times of Object.values(seen)) expect(times).toBeGreaterThan(100);
  });
});

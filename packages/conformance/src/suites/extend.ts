import { expect } from "vitest";
import { type Fact, fact, factNeeding } from "../fact.ts";
import { longMs } from "../world/client.ts";
import { expectKeptFor } from "../world/expectations.ts";
import { claimAndExpire, claimWhenFree, momentMs, nextFence, whileAlive } from "../world/world.ts";

/** Whether an extension may rejoin. Where the claim is held it makes no difference, and core always sends that it may. */
const rejoins = [false, true];

/** What tests of a held claim call an extension. */
function named(rejoin: boolean): string {
  return rejoin ? "extend() with rejoin" : "extend()";
}

/** What `extend` does to the ttl of a claim that is held. */
function ttls(rejoin: boolean): readonly Fact[] {
  return [
    fact(`${named(rejoin)} of a held claim makes it last longer`, async (world) => {
      const { resource, ttlMs } = await whileAlive(world, async (name, ttlMs) => {
        await world.node.grant("alice", name, { ttlMs });
        await world.node.hold("alice", name, { ttlMs: longMs, rejoin });
      });
      await world.pass(2 * ttlMs);
      await world.rival.deny("bob", resource);
    }),

    fact(`${named(rejoin)} of a held claim keeps it for the ttl of the request, from then on`, async (world) => {
      let startMs = 0;
      const { resource, ttlMs } = await whileAlive(world, async (name, ttlMs) => {
        await world.node.grant("alice", name, { ttlMs });
        startMs = world.elapsedMs();
        await world.node.hold("alice", name, { ttlMs: ttlMs + 40, rejoin });
      });
      await expectKeptFor(world, resource, ttlMs + 40, startMs);
    }),

    fact(`${named(rejoin)} of a held claim for less than it will be kept leaves it as it is`, async (world) => {
      await world.node.grant("alice", "r", { ttlMs: longMs });
      await world.rival.hold("alice", "r", { ttlMs: 1, rejoin });
      await world.pass(momentMs);
      await world.node.deny("bob", "r");
    }),

    factNeeding(
      "severalResources",
      `${named(rejoin)} of several held resources makes each last longer, and none end sooner`,
      async (world) => {
        const { node, rival } = world;
        const { resource, ttlMs } = await whileAlive(world, async (name, ttlMs) => {
          await node.grant("alice", name, { ttlMs });
          await node.grant("alice", `${name}, for long`, { ttlMs: 2 * longMs });
          await node.hold("alice", [name, `${name}, for long`], { ttlMs: longMs, rejoin });
        });
        await world.pass(2 * ttlMs);
        await rival.deny("bob", resource);
        const retryAfterMs = await rival.deny("bob", `${resource}, for long`);
        if (retryAfterMs !== undefined) expect(retryAfterMs).toBeGreaterThan(longMs);
        // A node that says nothing of the wait is asked again when what it was extended for has passed.
        await world.leap(longMs);
        await rival.deny("bob", `${resource}, for long`);
      },
    ),
  ];
}

/** What `extend` does to the counters of a claim that is held. */
function counters(rejoin: boolean): readonly Fact[] {
  return [
    fact(`${named(rejoin)} of a held claim raises the counter to the fence`, async ({ node, rival }) => {
      await node.grant("alice", "r", { fenceHint: 10 });
      expect(await node.extend("alice", "r", { fence: 1_000, rejoin })).toEqual({ held: true, fence: 1_000 });
      await node.release("alice", "r");
      expect(await nextFence(rival, "r")).toBe(1_001);
    }),

    fact(
      `${named(rejoin)} of a held claim to a fence below the counter answers the counter, and leaves it`,
      async (world) => {
        const { node, rival } = world;
        await node.grant("alice", "r", { fenceHint: 1_000 });
        expect(await node.extend("alice", "r", { fence: 999, rejoin })).toEqual({ held: true, fence: 1_000 });
        await node.release("alice", "r");
        expect(await nextFence(rival, "r")).toBe(1_001);
      },
    ),

    fact(`${named(rejoin)} of a held claim does not advance the counter by itself, however often`, async (world) => {
      const { node, rival } = world;
      const fence = await node.grant("alice", "r");
      for (let round = 0; round < 3; round++) expect(await node.hold("alice", "r", { fence, rejoin })).toBe(fence);
      await node.release("alice", "r");
      expect(await nextFence(rival, "r")).toBe(fence + 1);
    }),

    factNeeding(
      "severalResources",
      `${named(rejoin)} of several held resources raises each counter that is lower, and answers the highest`,
      async ({ node }) => {
        await node.grant("alice", "a", { fenceHint: 10 });
        await node.grant("alice", "b", { fenceHint: 30 });
        await node.grant("alice", "c", { fenceHint: 12 });
        expect(await node.hold("alice", ["a", "b", "c"], { fence: 20, rejoin })).toBe(30);
        await node.release("alice", ["a", "b", "c"]);
        expect([await nextFence(node, "a"), await nextFence(node, "b"), await nextFence(node, "c")]).toEqual([
          21, 31, 21,
        ]);
      },
    ),
  ];
}

/** What `extend` does where the claim is not held: nothing. */
const refusals: readonly Fact[] = [
  fact("extend() of another owner's claim answers not held, and leaves claim and counter alone", async (world) => {
    const { node, rival } = world;
    const fence = await node.grant("alice", "r");
    for (const rejoin of rejoins) {
      const reply = await rival.extend("bob", "r", { ttlMs: 1, fence: fence + 1_000, rejoin });
      expect(reply).toEqual({ held: false, rejoined: false });
    }
    await world.pass(momentMs);
    expect(await node.hold("alice", "r")).toBe(fence);
  }),

  fact("extend() does not prolong another owner's claim", async (world) => {
    const { resource } = await whileAlive(world, async (name, ttlMs) => {
      await world.node.grant("alice", name, { ttlMs });
      for (const rejoin of rejoins) await world.rival.extend("bob", name, { ttlMs: longMs, rejoin });
    });
    await claimWhenFree(world, resource);
  }),

  fact("extend() without rejoin of a claim never made changes nothing", async ({ node, rival }) => {
    expect(await node.extend("alice", "r", { fence: 1_000 })).toEqual({ held: false, rejoined: false });
    expect(await nextFence(rival, "r")).toBe(1);
  }),

  fact("extend() without rejoin of a released claim changes nothing", async ({ node, rival }) => {
    const fence = await node.grant("alice", "r");
    await node.release("alice", "r");
    expect(await node.extend("alice", "r", { fence: fence + 1_000 })).toEqual({ held: false, rejoined: false });
    expect(await nextFence(rival, "r")).toBe(fence + 1);
  }),

  fact("extend() without rejoin of an expired claim changes nothing", async (world) => {
    const fence = await claimAndExpire(world, "alice", "r");
    const reply = await world.node.extend("alice", "r", { fence: fence + 1_000 });
    expect(reply).toEqual({ held: false, rejoined: false });
    expect(await nextFence(world.rival, "r")).toBe(fence + 1);
  }),
];

/** What `extend` takes for held when only some of the resources are. */
const partial: readonly Fact[] = [
  factNeeding(
    "severalResources",
    "extend() without rejoin takes a claim on some of the resources for none, and changes nothing",
    async (world) => {
      const { node, rival } = world;
      await node.grant("alice", ["a", "b"], { fenceHint: 10 });
      const reply = await node.extend("alice", ["a", "b", "c"], { ttlMs: 1, fence: 1_000 });
      expect(reply).toEqual({ held: false, rejoined: false });
      await world.pass(momentMs);
      expect([await rival.hold("alice", "a"), await rival.hold("alice", "b")]).toEqual([10, 10]);
      expect(await nextFence(rival, "c")).toBe(1);
    },
  ),

  factNeeding(
    "severalResources",
    "extend() changes nothing where another owner holds any one of the resources, with rejoin or without",
    async (world) => {
      const { node, rival } = world;
      for (const foreign of ["a", "b", "c"]) {
        const own = ["a", "b", "c"].filter((name) => name !== foreign);
        await node.grant("alice", own, { fenceHint: 10 });
        await rival.grant("bob", foreign, { fenceHint: 10 });
        for (const rejoin of rejoins) {
          const reply = await node.extend("alice", ["a", "b", "c"], { ttlMs: 1, fence: 1_000, rejoin });
          expect(reply).toEqual({ held: false, rejoined: false });
        }
        await world.pass(momentMs);
        for (const resource of own) expect(await node.hold("alice", resource)).toBeLessThan(1_000);
        expect(await rival.hold("bob", foreign)).toBeLessThan(1_000);
        await node.release("alice", own);
        await rival.release("bob", foreign);
      }
    },
  ),
];

/** The facts about {@link LockNode.extend}, save for rejoining. */
export const extendFacts: readonly Fact[] = [
  ...rejoins.flatMap(ttls),
  ...rejoins.flatMap(counters),
  ...refusals,
  ...partial,
];

import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { longMs } from "../world/durations.ts";
import { afterExpiry, between, expectKeptFor } from "../world/expectations.ts";
import { claimAndExpire, claimWhenFree, momentMs, nextFence, whileAlive } from "../world/world.ts";

/** Both values of `rejoin`. They make no difference to a held claim, and core always sends `true`. */
const rejoins = [false, true];

/** Returns how test names refer to an extension. */
function named(rejoin: boolean): string {
  return rejoin ? "extend() with rejoin" : "extend()";
}

/** The effect of `extend` on the ttl of a held claim. */
function ttls(rejoin: boolean): readonly Fact[] {
  return [
    ...facts({
      [`${named(rejoin)} of a held claim makes it last for the ttl of the request from then on`]: async (world) => {
        let startMs = 0;
        const { resource, ttlMs } = await whileAlive(world, async (name, ttlMs) => {
          await world.node.grant("alice", name, { ttlMs });
          startMs = world.elapsedMs();
          await world.node.hold("alice", name, { ttlMs: ttlMs + 40, rejoin });
        });
        await expectKeptFor(world, resource, ttlMs + 40, startMs);
      },

      [`${named(rejoin)} of a held claim with less than its remaining ttl does not shorten it`]: async (world) => {
        await world.node.grant("alice", "r", { ttlMs: longMs });
        await world.rival.hold("alice", "r", { ttlMs: 1, rejoin });
        await world.pass(momentMs);
        await world.node.deny("bob", "r");
      },
    }),
    ...factsNeeding(["severalResources"], {
      [`${named(rejoin)} of several held resources prolongs each, and shortens none`]: async (world) => {
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
        // A node that gives no wait is asked again after the time of the extension.
        await world.leap(longMs);
        await rival.deny("bob", `${resource}, for long`);
      },
    }),
  ];
}

/** The effect of `extend` on the counters of a held claim. */
function counters(rejoin: boolean): readonly Fact[] {
  return [
    ...facts({
      [`${named(rejoin)} of a held claim raises a lower counter to the fence, and leaves a higher one alone`]: async ({
        node,
        rival,
      }) => {
        await node.grant("alice", "r", { fenceHint: 500 });
        for (const [fence, counter] of [[499, 500] as const, [1_000, 1_000] as const, [999, 1_000] as const]) {
          for (let round = 0; round < 3; round++) {
            expect(await node.extend("alice", "r", { fence, rejoin })).toEqual({ held: true, fence: counter });
          }
        }
        await node.release("alice", "r");
        expect(await nextFence(rival, "r")).toBe(1_001);
      },
    }),
    ...factsNeeding(["severalResources"], {
      [`${named(rejoin)} of several held resources raises each lower counter, and returns the highest`]: async ({
        node,
      }) => {
        await node.grant("alice", "a", { fenceHint: 10 });
        await node.grant("alice", "b", { fenceHint: 30 });
        await node.grant("alice", "c", { fenceHint: 12 });
        expect(await node.hold("alice", ["a", "b", "c"], { fence: 20, rejoin })).toEqual(between(30, 31));
        await node.release("alice", ["a", "b", "c"]);
        const fences = [await nextFence(node, "a"), await nextFence(node, "b"), await nextFence(node, "c")];
        expect(fences).toEqual([between(21, 32), between(31, 33), between(21, 34)]);
      },
    }),
  ];
}

/** The facts about {@link LockNode.extend}, except rejoining. */
export const extendFacts: readonly Fact[] = [
  ...rejoins.flatMap(ttls),
  ...rejoins.flatMap(counters),
  ...facts({
    // `extend` changes nothing if the claim is not held.
    "extend() of another owner's claim returns not held, and changes neither claim nor counter": async (world) => {
      const { node, rival } = world;
      const fence = await node.grant("alice", "r");
      for (const rejoin of rejoins) {
        const reply = await rival.extend("bob", "r", { ttlMs: 1, fence: fence + 1_000, rejoin });
        expect(reply).toEqual({ held: false, rejoined: false });
      }
      await world.pass(momentMs);
      expect(await node.hold("alice", "r")).toBe(fence);
      const { resource } = await whileAlive(world, async (name, ttlMs) => {
        await node.grant("alice", name, { ttlMs });
        for (const rejoin of rejoins) await rival.extend("bob", name, { ttlMs: longMs, rejoin });
      });
      await claimWhenFree(world, resource);
    },

    "extend() without rejoin of a resource that is free changes nothing": async (world) => {
      const { node, rival } = world;
      const notHeld = { held: false, rejoined: false };
      expect(await node.extend("alice", "r", { fence: 1_000 })).toEqual(notHeld);
      expect(await claimAndExpire(world, "alice", "r")).toBe(1);
      expect(await node.extend("alice", "r", { fence: 1_001 })).toEqual(notHeld);
      expect(await nextFence(rival, "r")).toEqual(afterExpiry(2));
      const released = await node.grant("alice", "r");
      await node.release("alice", "r");
      expect(await node.extend("alice", "r", { fence: released + 1_000 })).toEqual(notHeld);
      expect(await nextFence(rival, "r")).toBe(released + 1);
    },
  }),
  ...factsNeeding(["severalResources"], {
    // The reply of `extend` if only some of the resources are held.
    "extend() without rejoin returns not held and changes nothing if the owner holds only some of the resources":
      async ({ node, rival, pass }) => {
        await node.grant("alice", ["a", "b"], { fenceHint: 10 });
        const reply = await node.extend("alice", ["a", "b", "c"], { ttlMs: 1, fence: 1_000 });
        expect(reply).toEqual({ held: false, rejoined: false });
        await pass(momentMs);
        expect([await rival.hold("alice", "a"), await rival.hold("alice", "b")]).toEqual([10, 10]);
        expect(await nextFence(rival, "c")).toEqual(between(1, 11));
      },

    "extend() changes nothing while another owner holds any of the resources, with or without rejoin": async (
      world,
    ) => {
      const { node, rival } = world;
      for (const [index, foreign] of ["a", "b", "c", "a", "b", "c"].entries()) {
        const isRestHeld = index < 3;
        const rest = ["a", "b", "c"].filter((name) => name !== foreign);
        if (isRestHeld) await node.grant("alice", rest, { fenceHint: 10 });
        await rival.grant("bob", foreign, { fenceHint: 10 });
        for (const rejoin of rejoins) {
          const reply = await node.extend("alice", ["a", "b", "c"], { ttlMs: 1, fence: 1_000, rejoin });
          expect(reply).toEqual({ held: false, rejoined: false });
        }
        await world.pass(momentMs);
        for (const resource of rest) {
          const fence = isRestHeld ? await node.hold("alice", resource) : await nextFence(rival, resource);
          expect(fence).toBeLessThan(1_000);
        }
        expect(await rival.hold("bob", foreign)).toBeLessThan(1_000);
        await node.release("alice", rest);
        await rival.release("bob", foreign);
      }
    },
  }),
];

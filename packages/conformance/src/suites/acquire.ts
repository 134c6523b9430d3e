import type { AcquireReply } from "@holdfast/core/node";
import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { longMs, minuteMs } from "../world/durations.ts";
import { between } from "../world/expectations.ts";
import { claimAndExpire, claimWhenFree, momentMs, nextFence, whileAlive } from "../world/world.ts";

/** Returns the holder that a denial names; undefined if it names none. */
export function holderOf(reply: AcquireReply): string | undefined {
  if (reply.granted) throw new Error("acquire() granted a resource that another owner holds: it must deny it");
  return reply.holder;
}

/** Returns the resources that a denial lists as held; none if it has no list. */
export function listedAsHeld(reply: AcquireReply): readonly string[] {
  if (reply.granted) throw new Error("acquire() granted a resource that another owner holds: it must deny it");
  return reply.heldResources ?? [];
}

/** The facts about {@link LockNode.acquire}, except those in other suites. */
export const acquireFacts: readonly Fact[] = [
  ...facts({
    // The claims that `acquire` grants.
    "acquire() grants a resource that was never claimed": async ({ node }) => {
      expect(await node.acquire("alice", "r")).toEqual({ granted: true, fence: 1 });
    },

    // The claims that `acquire` denies. A denial changes nothing.
    "acquire() denies a resource that another owner holds, through either client": async ({ node, rival }) => {
      await node.grant("alice", "r");
      await node.deny("bob", "r");
      await rival.deny("carol", "r");
    },

    "acquire() changes neither holder, ttl nor counter when it is denied": async (world) => {
      const { node, rival } = world;
      const fence = await node.grant("alice", "r");
      for (const fenceHint of [fence + 1_000, Math.floor(world.nowMs()) * 1_000]) {
        await rival.deny("bob", "r", { ttlMs: 1, fenceHint });
      }
      await world.pass(momentMs);
      expect(await node.hold("alice", "r")).toBe(fence);
      await node.release("alice", "r");
      expect(await nextFence(rival, "r")).toBe(fence + 1);
      const { resource } = await whileAlive(world, async (name, ttlMs) => {
        await node.grant("alice", name, { ttlMs });
        await rival.deny("bob", name, { ttlMs: longMs });
      });
      await claimWhenFree(world, resource);
    },

    // The wait in a denial. A node that does not know it may omit it.
    "acquire() gives a wait within the ttl of the blocking claim, if it gives one": async (world) => {
      await world.node.grant("alice", "r", { ttlMs: minuteMs });
      expect((await world.node.deny("bob", "r")) ?? minuteMs).toBeGreaterThan(0);
      if (!world.endsExactly) return;
      // So short that a wait that is rounded up shows, and one that is never less than some time.
      await whileAlive(world, async (resource, ttlMs) => {
        await world.node.grant("alice", resource, { ttlMs });
        expect((await world.rival.deny("bob", resource)) ?? ttlMs).toBeLessThanOrEqual(ttlMs);
      });
    },

    // The holder in a denial, if it names one.
    "acquire() names the holder of the blocking claim, if it names one": async ({ node, rival }) => {
      await node.grant("alice", "r");
      expect(["alice", undefined]).toContain(holderOf(await rival.acquire("bob", "r")));
      await node.free("alice", "r");
      await node.grant("carol", "r");
      expect(["carol", undefined]).toContain(holderOf(await rival.acquire("bob", "r")));
    },

    // The effects of a request that arrives twice.
    "acquire() resent by the holder grants again with the same fence, whatever its hint": async ({ node, rival }) => {
      const fence = await node.grant("alice", "r", { fenceHint: 10 });
      expect(await node.grant("alice", "r", { fenceHint: 10 })).toBe(fence);
      expect(await rival.grant("alice", "r", { fenceHint: fence + 1_000 })).toBe(fence);
      await node.release("alice", "r");
      expect(await node.grant("alice", "r"), "a new claim after the release").toBe(fence + 1);
    },

    "acquire() resent by the holder neither prolongs nor shortens the claim": async (world) => {
      await world.node.grant("alice", "long");
      await world.node.grant("alice", "long", { ttlMs: 1 });
      const { resource } = await whileAlive(world, async (name, ttlMs) => {
        const fence = await world.node.grant("alice", name, { ttlMs });
        expect(await world.node.grant("alice", name, { ttlMs: longMs })).toBe(fence);
      });
      await claimWhenFree(world, resource);
      await world.pass(momentMs);
      await world.rival.deny("bob", "long");
    },
  }),
  ...factsNeeding(["severalResources"], {
    "acquire() grants several resources at once and holds each of them": async ({ node, rival }) => {
      await node.grant("alice", ["a", "b", "c"]);
      for (const resource of ["a", "b", "c"]) {
        await rival.deny("bob", resource);
        await rival.hold("alice", resource);
      }
    },

    "acquire() denies and changes nothing while another owner holds any of the resources": async ({ node, rival }) => {
      let highest = 0;
      for (const taken of ["a", "b", "c"]) {
        const resources = ["a", "b", "c"].map((name) => `${name}, ${taken} is taken`);
        const free = resources.filter((name) => !name.startsWith(taken));
        const held = `${taken}, ${taken} is taken`;
        const own = await node.grant("alice", held, { fenceHint: 10 });
        await rival.deny("bob", resources, { fenceHint: 1_000 });
        highest = Math.max(highest, own);
        for (const resource of free) {
          const fence = await nextFence(node, resource);
          expect(fence).toEqual(between(1, highest + 1));
          highest = Math.max(highest, fence);
        }
        const fence = await node.hold("alice", held);
        expect(fence).toEqual(between(own, highest));
        await node.release("alice", held);
        expect(await nextFence(rival, held)).toBe(fence + 1);
        highest = Math.max(highest, fence + 1);
      }
    },

    "acquire() denies and changes nothing if the owner already holds some of the resources and the rest is free":
      async ({ node, rival }) => {
        await node.grant("alice", "a", { fenceHint: 10 });
        await node.deny("alice", ["a", "b"], { fenceHint: 1_000 });
        expect(await nextFence(rival, "b")).toEqual(between(1, 11));
        expect(await node.hold("alice", "a")).toEqual(between(10, 11));
      },

    // The held resources in a denial, if it lists any. The validation of replies allows only requested ones.
    "acquire() lists as held only resources that another owner holds, if it lists any": async (world) => {
      const { node, rival } = world;
      await claimAndExpire(world, "alice", "expired");
      await nextFence(node, "released");
      const free = ["expired", "never claimed", "released"];
      for (const [round, held] of [["a"], ["m"], ["z"], ["a", "z"], ["a", "m", "z"]].entries()) {
        for (const resource of held) await node.grant(`${resource}, ${round}`, resource);
        const reply = await rival.acquire("bob", ["a", "m", "z", ...free]);
        expect(held).toEqual(expect.arrayContaining([...listedAsHeld(reply)]));
        for (const resource of held) await node.free(`${resource}, ${round}`, resource);
      }
      await node.grant("alice", "a");
      expect(listedAsHeld(await node.acquire("alice", ["a", "b"])), "its own claim").toEqual([]);
      await rival.grant("carol", "c");
      for (const [owner, terms] of [["alice", {}] as const, ["bob", { takeover: "alice" }] as const]) {
        if (owner === "bob" && !world.can("takeover")) continue;
        const reply = await node.acquire(owner, ["a", "b", "c"], terms);
        expect(["c"]).toEqual(expect.arrayContaining([...listedAsHeld(reply)]));
      }
    },

    "acquire() resent for several resources grants with their highest counter, and changes none": async (world) => {
      const { node, rival } = world;
      await node.grant("alice", "a", { fenceHint: 10 });
      await node.grant("alice", "b", { fenceHint: 30 });
      await node.grant("alice", "c", { fenceHint: 20 });
      expect(await rival.grant("alice", ["a", "b", "c"], { fenceHint: 1_000 })).toEqual(between(30, 31));
      await node.release("alice", ["a", "b", "c"]);
      const fences = [await nextFence(node, "a"), await nextFence(node, "b"), await nextFence(node, "c")];
      expect(fences).toEqual([between(11, 32), between(31, 33), between(21, 34)]);
    },
  }),
  ...factsNeeding(["severalResources", "exactTtl"], {
    "acquire() gives the wait for the claim that lasts longest, and its holder, if it gives any": async (world) => {
      const { node, rival } = world;
      await node.grant("alice", "a", { ttlMs: minuteMs });
      await node.grant("bob", "b", { ttlMs: 60 * minuteMs });
      await node.grant("carol", "c", { ttlMs: 20 * minuteMs });
      const cases = [
        { resources: ["a", "b", "c"], owner: "bob", minutes: 60, moreThan: 20 },
        { resources: ["a", "c", "free"], owner: "carol", minutes: 20, moreThan: 1 },
      ];
      for (const { resources, owner, minutes, moreThan } of cases) {
        expect([owner, undefined], "holder").toContain(holderOf(await rival.acquire("dave", resources)));
        const retryAfterMs = (await rival.deny("dave", resources)) ?? minutes * minuteMs;
        expect(retryAfterMs).toBeGreaterThan(moreThan * minuteMs);
        expect(retryAfterMs).toBeLessThanOrEqual(minutes * minuteMs);
      }
      expect(holderOf(await rival.acquire("alice", ["a", "free"])), "not its own claim").toBeUndefined();
    },
  }),
];

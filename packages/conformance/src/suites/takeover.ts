import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { longMs, minuteMs } from "../world/durations.ts";
import { afterExpiry, between, expectKeptFor } from "../world/expectations.ts";
import { claimAndExpire, momentMs, nextFence, whileAlive } from "../world/world.ts";

/** The facts about {@link AcquireRequest.takeover}. */
export const takeoverFacts: readonly Fact[] = [
  ...factsNeeding(["takeover"], {
    // The claims that a takeover grants.
    "acquire() with takeover passes the claim to the new owner, and advances the counter": async (world) => {
      const { node, rival } = world;
      const fence = await node.grant("alice", "r", { fenceHint: 10 });
      for (const client of [node, rival]) {
        expect(await client.grant("bob", "r", { takeover: "alice", fenceHint: 5 }), "sent again").toBe(fence + 1);
      }
      await rival.hold("bob", "r");
      for (const owner of ["alice", "carol"]) await rival.deny(owner, "r");
      for (const rejoin of [false, true]) {
        const reply = await node.extend("alice", "r", { ttlMs: 1, fence: fence + 1_000, rejoin });
        expect(reply, "an extension by the old owner").toEqual({ held: false, rejoined: false });
      }
      expect(await node.release("alice", "r"), "a release by the old owner").toBe(false);
      await world.pass(momentMs);
      expect(await node.hold("bob", "r")).toBe(fence + 1);
      expect(await rival.grant("carol", "r", { takeover: "bob", fenceHint: 1_000 })).toBe(1_000);
      await node.hold("carol", "r");
    },

    "acquire() with takeover makes the claim last for the ttl of the request, longer or shorter": async (world) => {
      const { resource, ttlMs } = await whileAlive(world, async (name, ttlMs) => {
        await world.node.grant("alice", name, { ttlMs });
        await world.node.grant("bob", name, { takeover: "alice", ttlMs: longMs });
      });
      await world.pass(2 * ttlMs);
      await world.node.hold("bob", resource);
      await world.node.grant("alice", "r");
      const startMs = world.elapsedMs();
      await world.node.grant("bob", "r", { takeover: "alice", ttlMs: 40 });
      await expectKeptFor(world, "r", 40, startMs);
    },
  }),
  ...facts({
    "acquire() with takeover grants a free resource": async (world) => {
      expect(await world.node.grant("bob", "never claimed", { takeover: "alice" })).toBe(1);
      const fence = await claimAndExpire(world, "alice", "expired");
      expect(await world.node.grant("bob", "expired", { takeover: "alice" })).toEqual(afterExpiry(fence + 1));
    },

    // The claims that a takeover does not grant.
    "acquire() with takeover from an owner that does not hold the resource is denied": async ({ node, rival }) => {
      const fence = await node.grant("Alice 1", "r");
      for (const takeover of ["carol", "Alice", "Alice 10", "alice 1", "Alice 1 ", "Alice*"]) {
        await rival.deny("bob", "r", { takeover, fenceHint: fence + 1_000 });
      }
      expect(await node.hold("Alice 1", "r")).toBe(fence);
    },
  }),
  ...factsNeeding(["takeover", "severalResources"], {
    "acquire() with takeover takes over that owner's claims together with free resources": async ({ node, rival }) => {
      await node.grant("alice", "b", { fenceHint: 10 });
      expect(await node.grant("bob", ["a", "b", "c"], { takeover: "alice" })).toBe(11);
      for (const resource of ["a", "b", "c"]) expect(await rival.hold("bob", resource)).toBe(11);
    },
  }),
  ...factsNeeding(["severalResources"], {
    "acquire() with takeover denies and changes nothing while a third owner holds any of the resources": async ({
      node,
      rival,
    }) => {
      for (const foreign of ["a", "b", "c"]) {
        const own = ["a", "b", "c"].find((name) => name !== foreign) as string;
        const free = ["a", "b", "c"].find((name) => name !== foreign && name !== own) as string;
        const ownFence = await node.grant("alice", own);
        const foreignFence = await rival.grant("carol", foreign);
        const freeFence = await nextFence(node, free);
        await node.deny("bob", ["a", "b", "c"], { takeover: "alice", fenceHint: 1_000 });
        const highest = Math.max(ownFence, foreignFence, freeFence);
        expect(await node.hold("alice", own)).toEqual(between(ownFence, highest));
        expect(await rival.hold("carol", foreign)).toEqual(between(foreignFence, highest));
        expect(await nextFence(node, free)).toBe(freeFence + 1);
        await node.release("alice", own);
        await rival.release("carol", foreign);
      }
    },
  }),
  ...factsNeeding(["takeover", "severalResources", "exactTtl"], {
    "acquire() with takeover gives the wait for the claims that it may not take over, if it gives one": async ({
      node,
      rival,
    }) => {
      await node.grant("alice", "a", { ttlMs: 60 * minuteMs });
      await rival.grant("carol", "b", { ttlMs: minuteMs });
      const retryAfterMs = (await node.deny("bob", ["a", "b"], { takeover: "alice" })) ?? minuteMs;
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(minuteMs);
    },
  }),
];

import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { afterExpiry, between, expectKeptFor } from "../world/expectations.ts";
import { claimAndExpire, claimWhenFree, nextFence } from "../world/world.ts";

const rejoined = { held: false, rejoined: true };

/** The facts about {@link LockNode.extend} with `rejoin`. */
export const rejoinFacts: readonly Fact[] = [
  ...factsNeeding(["rejoin"], {
    // How a claim comes back after the node lost its memory, or after the claim expired.
    "extend() with rejoin claims a free resource again, and returns rejoined the first time only": async (world) => {
      const { node, rival } = world;
      expect(await node.extend("alice", "r", { fence: 10, rejoin: true })).toEqual(rejoined);
      await rival.deny("bob", "r");
      for (const [client, rejoin] of [[node, false] as const, [rival, true] as const]) {
        expect(await client.extend("alice", "r", { fence: 10, rejoin })).toEqual({ held: true, fence: 10 });
      }
    },

    "extend() with rejoin makes the new claim last for the ttl of the request": async (world) => {
      const startMs = world.elapsedMs();
      expect(await world.node.extend("alice", "r", { ttlMs: 40, rejoin: true })).toEqual(rejoined);
      await expectKeptFor(world, "r", 40, startMs);
    },

    // A rejoined claim is a grant: if the counter did not advance, two locks could get the same fencing token.
    "extend() with rejoin advances the counter, as a grant does": async (world) => {
      const { node } = world;
      const fence = await node.grant("alice", "r", { fenceHint: 10 });
      await node.release("alice", "r");
      expect(await node.extend("alice", "r", { fence, rejoin: true })).toEqual(rejoined);
      expect(await node.hold("alice", "r")).toBe(fence + 1);
      const expired = await claimAndExpire(world, "alice", "expired");
      expect(await node.extend("alice", "expired", { fence: expired, rejoin: true })).toEqual(rejoined);
      await world.rival.deny("bob", "expired");
      expect(await node.hold("alice", "expired")).toEqual(afterExpiry(expired + 1));
    },

    "extend() with rejoin sets the counter to the fence of the request if that is higher": async (world) => {
      const { node } = world;
      expect(await node.extend("alice", "never claimed", { fence: 1_000, rejoin: true })).toEqual(rejoined);
      expect(await node.hold("alice", "never claimed")).toBe(1_000);
      await nextFence(node, "claimed before");
      expect(await node.extend("alice", "claimed before", { fence: 1_000, rejoin: true })).toEqual(rejoined);
      expect(await node.hold("alice", "claimed before")).toEqual(between(1_000, 1_002));
    },
  }),
  ...factsNeeding(["rejoin", "severalResources"], {
    // Either all of several resources are rejoined, or none.
    "extend() with rejoin claims all of several free resources, with a fence above their highest counter": async ({
      node,
      rival,
    }) => {
      await node.grant("bob", "b", { fenceHint: 30 });
      await node.release("bob", "b");
      expect(await node.extend("alice", ["a", "b", "c"], { fence: 20, rejoin: true })).toEqual(rejoined);
      for (const resource of ["a", "b", "c"]) {
        await rival.deny("carol", resource);
        expect(await node.hold("alice", resource)).toBe(31);
      }
    },

    "extend() with rejoin claims all resources and advances all counters if some are held and the rest is free": async (
      world,
    ) => {
      const { node, rival } = world;
      await node.grant("alice", ["a", "b", "c"], { fenceHint: 10 });
      await node.release("alice", "b");
      expect(await node.extend("alice", ["a", "b", "c"], { ttlMs: 40, fence: 10, rejoin: true })).toEqual(rejoined);
      for (const resource of ["a", "b", "c"]) await claimWhenFree(world, resource, "bob");
      expect(await rival.hold("bob", ["a", "b", "c"])).toEqual(between(12, 14));
    },
  }),
];

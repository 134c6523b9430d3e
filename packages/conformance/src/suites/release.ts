import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { between } from "../world/expectations.ts";
import { briefMs, claimAndExpire, nextFence } from "../world/world.ts";

/** The facts about {@link LockNode.release}, except notifications. */
export const releaseFacts: readonly Fact[] = [
  ...facts({
    // The claims that `release` frees.
    "release() frees the owner's claim for the next owner, and keeps the counter": async ({ node, rival }) => {
      const fence = await node.grant("alice", "r", { fenceHint: 1_000 });
      expect(await node.release("alice", "r")).toBe(true);
      expect(await rival.grant("bob", "r")).toBe(fence + 1);
    },

    // The claims and counters that `release` does not change.
    "release() of a resource never claimed, or sent again, changes nothing, and does not reject": async (world) => {
      const { node, rival } = world;
      expect(await node.release("alice", "r")).toBe(false);
      expect(await node.grant("alice", "r")).toBe(1);
      expect(await node.release("alice", "r")).toBe(true);
      expect(await node.release("alice", "r")).toBe(false);
      expect(await rival.release("alice", "r")).toBe(false);
      expect(await nextFence(rival, "r")).toBe(2);
      await node.grant("alice", "claimed again", { ttlMs: briefMs });
      await claimAndExpire(world, "alice", "expired");
      await rival.grant("bob", "claimed again");
      for (const resource of ["expired", "claimed again"]) {
        expect(await node.release("alice", resource), "the release of an expired claim").toBe(false);
      }
      await rival.hold("bob", "claimed again");
    },

    "release() leaves another owner's claim and counter alone": async ({ node, rival }) => {
      const fence = await node.grant("Alice 1", "r");
      for (const other of ["bob", "Alice", "Alice 10", "alice 1", " Alice 1", "Alice 1 ", "Alice?1", "Alice*"]) {
        for (const client of [node, rival]) expect(await client.release(other, "r"), other).toBe(false);
      }
      await rival.deny("bob", "r");
      expect(await node.hold("Alice 1", "r")).toBe(fence);
    },
  }),
  ...factsNeeding(["severalResources"], {
    "release() frees all of several resources, and keeps each counter": async ({ node, rival }) => {
      await node.grant("alice", ["a", "b", "c"], { fenceHint: 10 });
      await node.hold("alice", "b", { fence: 20 });
      expect(await node.release("alice", ["a", "b", "c"])).toBe(true);
      expect([await nextFence(rival, "a"), await nextFence(rival, "b"), await nextFence(rival, "c")]).toEqual([
        between(11, 21),
        between(21, 22),
        between(11, 23),
      ]);
    },

    "release() of some of the resources leaves the others held": async ({ node, rival }) => {
      await node.grant("alice", ["a", "b", "c"]);
      expect(await node.release("alice", ["a", "c"])).toBe(true);
      await rival.grant("bob", ["a", "c"]);
      await node.hold("alice", "b");
      expect(await node.release("alice", ["free", "b", "also free"]), "a release of one beside free ones").toBe(true);
      await rival.grant("bob", ["free", "b", "also free"]);
    },

    "release() frees the owner's claims, and leaves another owner's among the same resources": async (world) => {
      const { node, rival } = world;
      for (const own of ["a", "b", "c"]) {
        const foreign = ["a", "b", "c"].filter((name) => name !== own);
        await node.grant("alice", own);
        await rival.grant("bob", foreign);
        expect(await node.release("alice", ["a", "b", "c"])).toBe(true);
        await rival.hold("bob", foreign);
        await node.grant("carol", own);
        await node.release("carol", own);
        await rival.release("bob", foreign);
      }
    },
  }),
];

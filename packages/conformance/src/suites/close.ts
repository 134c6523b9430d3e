import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { momentMs, nextFence } from "../world/world.ts";

/** The facts about {@link LockNode.close}, if the node offers it. */
export const closeFacts: readonly Fact[] = [
  ...factsNeeding(["close"], {
    "close() changes neither claims nor fence counters, and is safe to repeat": async ({ node, rival }) => {
      const fence = await node.grant("alice", "r");
      await node.close();
      await node.close();
      await rival.deny("bob", "r", {}, "close() frees the claims of its node");
      await rival.free("alice", "r");
      expect(await nextFence(rival, "r"), "close() resets fence counters").toBeGreaterThan(fence);
    },
  }),
  ...factsNeeding(["close", "watch"], {
    "close() ends the watches of its node": async (world) => {
      let heard = 0;
      const unwatch = await world.node.watch("r", () => heard++);
      await world.node.close();
      await nextFence(world.rival, "r");
      await world.leap(momentMs);
      expect(heard, "a watch continues after its node is closed").toBe(0);
      await unwatch();
    },
  }),
];

import { expect } from "vitest";
import { type Fact, fact, factNeeding } from "../fact.ts";

/** The facts about two clients of one server: they see one world, and the owner alone signs a claim. */
export const clientFacts: readonly Fact[] = [
  fact("the node has a name", async ({ node, rival }) => {
    for (const { name } of [node.node, rival.node]) {
      expect(typeof name).toBe("string");
      expect(name).not.toBe("");
    }
  }),

  fact("both clients see a claim of either", async ({ node, rival }) => {
    await node.grant("alice", "a");
    await rival.grant("bob", "b");
    for (const client of [node, rival]) {
      await client.deny("carol", "a");
      await client.deny("carol", "b");
    }
  }),

  fact("both clients count the fences of a resource together", async ({ node, rival }) => {
    for (const [round, client] of [node, rival, node, rival].entries()) {
      expect(await client.grant(`owner ${round}`, "r")).toBe(round + 1);
      await client.release(`owner ${round}`, "r");
    }
  }),

  fact("a claim belongs to its owner, not to the client that sent it", async ({ node, rival }) => {
    const fence = await node.grant("alice", "r");
    expect(await rival.grant("alice", "r")).toBe(fence);
    expect(await rival.hold("alice", "r")).toBe(fence);
    expect(await rival.release("alice", "r")).toBe(true);
    expect(await node.release("alice", "r")).toBe(false);
  }),

  factNeeding("takeover", "a claim is taken over by whichever client asks", async ({ node, rival }) => {
    await node.grant("alice", "r");
    await rival.grant("bob", "r", { takeover: "alice" });
    await node.hold("bob", "r");
  }),

  factNeeding(
    "severalResources",
    "claims of both clients on overlapping resources exclude each other",
    async ({ node, rival }) => {
      await node.grant("alice", ["a", "b"]);
      await rival.deny("bob", ["b", "c"]);
      await rival.grant("bob", ["c", "d"]);
      await node.deny("carol", ["a", "d"]);
      await node.release("alice", ["a", "b"]);
      await rival.grant("dave", ["a", "b"]);
    },
  ),
];

import { expect } from "vitest";
import { type Fact, fact, factNeeding } from "../fact.ts";
import { nextFence } from "../world.ts";

/** Names that a careless adapter confuses with one another, loses, or takes for something else. */
const names: readonly string[] = [
  ...["r", "R", "r ", " r", "r  ", "r\t", "r\n"],
  ...["a:b", "a", "b", "a/b", "a.b", "a b", "a,b", '["a","b"]'],
  ...["{a}", "{a}b", "{b}a", "{}", "{", "}", "{a", "}a{", "{a}{b}", "{{a}}"],
  ...["r:fence", "fence:r", "r:lock", "lock:r", "fence", "lock:", ":"],
  ...["*", "?", "r*", "[r]", "%", "r%", "_", "'", '"', "\\", "r\\", "$1", "`", ";", "--", "\u0000", "r\u0000"],
  ...["1", "01", "1.0", "1e0", "-1", "true", "null", "undefined", "NaN"],
  ...["__proto__", "constructor", "hasOwnProperty", "toString"],
  ...["é", "e\u0301", "ß", "ss", "İ", "i", "I", "ı", "日本語", "🔒", "🔓", "\u00a0", "\u200b"],
  ...["x".repeat(512), `${"x".repeat(511)}y`, "🔒".repeat(256)],
];

/** The facts about resource names and owners: any non-empty string is one, and no two are the same. */
export const nameFacts: readonly Fact[] = [
  fact("each of many odd names is a resource of its own", async ({ bare: { node, rival } }) => {
    for (const [index, name] of names.entries()) {
      expect(await node.grant(`owner ${index}`, name, { fenceHint: 1_000 + index }), name).toBe(1_000 + index);
    }
    for (const [index, name] of names.entries()) {
      await rival.deny("bob", name);
      expect(await rival.hold(`owner ${index}`, name), name).toBe(1_000 + index);
      expect(await rival.release(`owner ${index}`, name), name).toBe(true);
      expect(await nextFence(node, name), name).toBe(1_001 + index);
    }
  }),

  factNeeding("severalResources", "many odd names are claimed and released together", async ({ node, rival }) => {
    expect(await node.grant("alice", names)).toBe(1);
    for (const name of names) await rival.deny("bob", name);
    expect(await node.hold("alice", names)).toBe(1);
    expect(await node.release("alice", names)).toBe(true);
    expect(await rival.grant("bob", names)).toBe(2);
  }),

  // Half a surrogate pair has no UTF-8: stored as that, all such names are one.
  fact("names that are not well-formed Unicode are rejected, or are resources of their own", async ({ bare }) => {
    const { node, rival } = bare;
    for (const [index, name] of ["\ud800", "\udfff", "\ufffd", "r\ud800", "r\udfff", "r\ufffd"].entries()) {
      const reply = await node.acquire(`owner ${index}`, name).catch(() => "rejected");
      if (reply !== "rejected") await rival.hold(`owner ${index}`, name);
    }
  }),

  fact("owners are kept letter for letter, label and all", async ({ node, rival }) => {
    const owners = ["worker 7:ab12", "prüfer 🔒:ab12", "a{b}c:1", "'; --\\\"", "0123", "nil", "x".repeat(300)];
    for (const [index, owner] of owners.entries()) {
      await node.grant(owner, "r");
      for (const other of [`${owner} `, owner.slice(1), `${owner}${index}`]) {
        expect((await rival.extend(other, "r")).held, owner).toBe(false);
      }
      await rival.hold(owner, "r");
      expect(await node.release(owner, "r"), owner).toBe(true);
    }
  }),
];

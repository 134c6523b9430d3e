import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { freshOwner } from "../world/client.ts";
import { between } from "../world/expectations.ts";
import type { World } from "../world/world.ts";
import { each } from "./sizes.ts";

/** Groups of different names, each with the mistake of a node that confuses two of them. */
const lookalikes: readonly (readonly [mistake: string, names: readonly string[]])[] = [
  ["folds the case of names", ["r", "R", "ß", "ss", "SS", "İ", "i", "I", "ı", "ﬁ", "fi", "Straße", "STRASSE"]],
  [
    "trims names, or folds white space",
    ["r ", " r", "r  ", "  r", "r\t", "r\n", "\nr", "r\r\n", "\u00a0", "r\u00a0", " "],
  ],
  ["splits or joins names", ["a:b", "a", "b", "a.b", "a b", "a,b", '["a","b"]', "a;b", "a|b", "a_b", "a-b"]],
  [
    "treats names as paths",
    ["a/b", "a//b", "/a/b", "a/b/", "a/./b", "a/c/../b", "./a/b", "../a/b", "a\\b", "a/B", "b/../a"],
  ],
  [
    "treats names as paths",
    [".", "..", "/", "//", "./", "../", "a/..", "~", "~/a", "a.", "a..", ".a", "...", "con", "C:a"],
  ],
  [
    "decodes percent escapes",
    ["A", "%41", "%2541", "a%2Fb", "a%2fb", "%2e%2e", "%", "%%", "%25", "r%", "%00", "a%20b", "%zz"],
  ],
  [
    "treats plus signs as spaces, or reads names as URLs",
    ["a+b", "a%2Bb", "a++b", "+", "a?b", "a#b", "a&b", "a=b", "?", "#", "&"],
  ],
  [
    "decodes other escapes",
    ["&amp;", "&#38;", "\\u0041", "\\x41", "\\101", "\\", "\\\\", "r\\", "\\n", "\n", "$1", "$(a)", "`"],
  ],
  [
    "keeps only the part of a name between braces",
    ["{a}", "{a}b", "{b}a", "{}", "{", "}", "{a", "}a{", "{a}{b}", "{{a}}"],
  ],
  [
    "confuses names with its own keys",
    ["r:fence", "fence:r", "r:lock", "lock:r", "fence", "lock:", ":", "r:1", "r:", ":r"],
  ],
  ["expands patterns", ["*", "?r", "r*", "r?", "[r]", "r[a-z]", "_", "r_", "**", "[^a]", "(r)", "r+", "^r$"]],
  [
    "interprets names in a query",
    ["'", '"', "''", ";", "--", "r--", "r;", "/*", "' OR 1=1", "\u0008", "\u001b", "\u007f"],
  ],
  ["ends names at a NUL character", ["\u0000", "r\u0000", "\u0000r", "r\u0000a", "r\u0000b"]],
  [
    "reads names as numbers or other values",
    ["1", "01", "1.0", "1e0", "+1", "-1", "0x1", "true", "null", "nil", "undefined", "NaN"],
  ],
  ["keeps names as properties of an object", ["__proto__", "constructor", "hasOwnProperty", "toString", "length"]],
  [
    "normalizes Unicode",
    ["é", "e\u0301", "Å", "\u212b", "A\u030a", "Ａ", "①", "가", "가", "ｶ", "カ", "\ufeffr", "r\ufeff"],
  ],
  ["drops invisible characters", ["\u200b", "r\u200b", "r\u00ad", "r\u200d", "\u200er", "r\ufe0f", "r\u0301"]],
  [
    "keeps only some characters",
    ["日本語", "日本", "🔒", "🔓", "👩‍🚀", "👩🚀", "\u{1d11e}", "ö", "o", "?", "??", "？"],
  ],
  ["cuts names", ["x".repeat(512), `${"x".repeat(511)}y`, "🔒".repeat(256), `${"🔒".repeat(255)}🔓`]],
];

/** The length of names that differ only at their ends, in one-byte characters. */
const longName = 5_000;

/** Returns all lookalikes that the server can keep, each once. */
export function unusualNames(world: World): string[] {
  const names = new Set(lookalikes.flatMap(([, group]) => group));
  return [...names].filter((name) => Buffer.byteLength(name) <= world.nameBytesMax);
}

/** Describes the likely mistake of a node that confuses this name with another one. */
function mistakeIn(name: string): string {
  const mistakes = lookalikes.filter(([, group]) => group.includes(name)).map(([mistake]) => mistake);
  return `${JSON.stringify(name)} is confused with another name: the node probably ${mistakes.join(", or ")}`;
}

/** Returns a long name that does not compress, so that it reaches the limits of a store. */
function longNameOf(length: number, end: string): string {
  let random = 1;
  const characters = Array.from({ length: length - 1 }, () => {
    random = (random * 48_271) % 2_147_483_647;
    return (random % 36).toString(36);
  });
  return characters.join("") + end;
}

/** Whether two names of this length that differ only in their last character are separate resources. */
async function areKeptApart({ node, rival }: World["bare"], length: number): Promise<boolean> {
  const [alice, bob] = [freshOwner(), freshOwner()];
  const [one, other] = [longNameOf(length, "a"), longNameOf(length, "b")];
  const mistake = `a name of ${length} characters is not kept; a store with a limit must declare cannot.longNames`;
  await node.grant(alice, one, {}, mistake);
  const { granted } = await rival.acquire(bob, other);
  const isStillHeld = (await rival.extend(alice, one)).held;
  await node.release(alice, one);
  await rival.release(bob, other);
  return granted && isStillHeld;
}

/** Finds out how many characters of a name the node compares. */
async function comparedLength(bare: World["bare"], length: number): Promise<number> {
  let [apart, confused] = [0, length];
  while (confused - apart > 1) {
    const middle = Math.floor((apart + confused) / 2);
    if (await areKeptApart(bare, middle)) apart = middle;
    else confused = middle;
  }
  return apart;
}

/**
 * The facts about resource names and owners: any non-empty string is valid, and different strings are different names.
 */
export const nameFacts: readonly Fact[] = [
  ...facts({
    "each of many unusual names is a separate resource": async (world) => {
      const { node, rival } = world.bare;
      const names = unusualNames(world);
      for (const [index, name] of names.entries()) {
        const fence = await node.grant(`owner ${index}`, name, { fenceHint: 1_000 + index }, mistakeIn(name));
        expect(fence, mistakeIn(name)).toBe(1_000 + index);
      }
      const last = 1_000 + names.length - 1;
      await each(names, (name) => rival.deny("bob", name, {}, mistakeIn(name)));
      for (const [index, name] of names.entries()) {
        const fence = await rival.hold(`owner ${index}`, name, {}, mistakeIn(name));
        expect(fence, mistakeIn(name)).toEqual(between(1_000 + index, last + index));
        expect(await rival.release(`owner ${index}`, name), mistakeIn(name)).toBe(true);
        expect(await node.grant(freshOwner(), name, {}, mistakeIn(name)), mistakeIn(name)).toBe(fence + 1);
      }
    },

    [`names of ${longName} characters that differ only in the last are two resources`]: async (world) => {
      const length = Math.min(longName, world.nameBytesMax);
      if (await areKeptApart(world.bare, length)) return;
      const compared = await comparedLength(world.bare, length);
      throw new Error(
        `names are compared only up to ${compared} characters: longer names that start alike are one resource`,
      );
    },

    // Half a surrogate pair has no UTF-8 encoding: stored as UTF-8, all such names would be the same.
    "names that are not well-formed Unicode are rejected, or are separate resources": async ({ bare }) => {
      const { node, rival } = bare;
      for (const [index, name] of ["\ud800", "\udfff", "\ufffd", "r\ud800", "r\udfff", "r\ufffd"].entries()) {
        const reply = await node.acquire(`owner ${index}`, name).catch(() => "rejected");
        if (reply !== "rejected") await rival.hold(`owner ${index}`, name);
      }
    },

    "owners are kept exactly, including their labels": async ({ node, rival }) => {
      const owners = ["worker 7:ab12", "prüfer 🔒:ab12", "a{b}c:1", "'; --\\\"", "0123", "nil", "x".repeat(300)];
      for (const [index, owner] of owners.entries()) {
        await node.grant(owner, "r");
        for (const other of [`${owner} `, owner.slice(1), `${owner}${index}`]) {
          expect((await rival.extend(other, "r")).held, owner).toBe(false);
        }
        await rival.hold(owner, "r");
        expect(await node.release(owner, "r"), owner).toBe(true);
      }
    },
  }),
  ...factsNeeding(["severalResources"], {
    "many unusual names can be claimed and released together": async (world) => {
      const { node, rival } = world;
      const names = unusualNames(world).slice(0, world.resourcesMax);
      expect(await node.grant("alice", names)).toBe(1);
      await each(names, (name) => rival.deny("bob", name, {}, mistakeIn(name)));
      expect(await node.hold("alice", names)).toBe(1);
      expect(await node.release("alice", names)).toBe(true);
      expect(await rival.grant("bob", names)).toBe(2);
    },
  }),
];

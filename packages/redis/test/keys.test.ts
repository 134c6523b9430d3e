import { ConfigurationError } from "@holdfast/core";
import { startRedisCluster } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import {
  clusterSlot,
  fenceKey,
  fenceKeyPrefix,
  lockKey,
  lockNames,
  sharersKey,
  slotsError,
  tagOfSlot,
  waitingListKey,
} from "../src/keys.ts";

const cluster = await startRedisCluster(1);
const client = new Redis({ port: cluster.servers[0]?.port as number });
afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});

/** All texts of two letters and braces up to five characters, and some others. */
const names = [...wordsOf(["a", "b", "{", "}"], 5), "é", "{é}", "🔒}{", "\u0000", "x".repeat(1_000), "invoice:42"];
const prefixes = ["", "lock:", "{p}:", "p{", "p}", "{", "{}", fenceKeyPrefix.slice(0, -1)];
const lockKeys = [...new Set(prefixes.flatMap((prefix) => names.map((name) => prefix + name)))];

function wordsOf(letters: readonly string[], lengthMax: number): string[] {
  if (lengthMax === 1) return [...letters];
  const shorter = wordsOf(letters, lengthMax - 1);
  const longest = shorter.filter((word) => word.length === lengthMax - 1);
  return [...shorter, ...longest.flatMap((word) => letters.map((letter) => letter + word))];
}

/** Returns the slots that the server computes. */
async function slotsOf(keys: readonly string[]): Promise<number[]> {
  const pipeline = client.pipeline();
  for (const key of keys) pipeline.cluster("KEYSLOT", key);
  const results = await pipeline.exec();
  return (results ?? []).map(([, slot]) => slot as number);
}

describe("clusterSlot()", () => {
  test("returns the slot that Redis computes, with any braces in the key", async () => {
    expect(lockKeys.map(clusterSlot)).toEqual(await slotsOf(lockKeys));
  });
});

describe("tagOfSlot()", () => {
  test("returns a constant tag for every slot", () => {
    const tags = Array.from({ length: 16_384 }, (_, slot) => tagOfSlot(slot));
    expect(tags.map((tag) => clusterSlot(`{${tag}}`))).toEqual(tags.map((_, slot) => slot));
    // The names of keys on servers contain these tags.
    expect([tagOfSlot(0), tagOfSlot(1), tagOfSlot(16_383)]).toEqual(["kikihh", "nloinh", "kjlihh"]);
  });
});

describe("fenceKey(), waitingListKey() and sharersKey()", () => {
  test("return keys in the slot of the lock key, with any braces in it and in the prefix", async () => {
    const slots = lockKeys.map(clusterSlot);
    for (const keyOf of [waitingListKey, sharersKey]) {
      const keys = lockKeys.map((key, index) => keyOf(key, slots[index] as number));
      expect(await slotsOf(keys)).toEqual(slots);
      expect(keys.map(clusterSlot)).toEqual(slots);
      expect(new Set(keys).size).toBe(lockKeys.length);
    }
    const fenceKeys = prefixes.flatMap((prefix) => slots.map((slot) => fenceKey(prefix, slot)));
    const expected = prefixes.flatMap(() => slots);
    expect(fenceKeys.map(clusterSlot)).toEqual(expected);
    expect(await slotsOf(fenceKeys)).toEqual(expected);
  });
});

describe("fenceKey()", () => {
  test("returns different keys for different slots and prefixes", () => {
    const keys = prefixes.flatMap((prefix) => Array.from({ length: 16_384 }, (_, slot) => fenceKey(prefix, slot)));
    expect(new Set(keys).size).toBe(prefixes.length * 16_384);
  });

  test("never changes, as counters on servers have these names", () => {
    expect(fenceKey("lock:", 0)).toBe("holdfast:fence:{kikihh}lock:");
    expect(fenceKey("", 16_383)).toBe("holdfast:fence:{kjlihh}");
    expect(fenceKey("{p}", 1)).toBe("holdfast:fence:{nloinh}{p}");
  });
});

describe("lockKey()", () => {
  test("throws for a name that would be a fence key or a set of sharers, with any prefix", () => {
    const slots = [0, 7, 16_383];
    for (const key of names
      .slice(0, 100)
      .flatMap((name) => [...slots.map((slot) => fenceKey(name, slot)), sharersKey(name, 5)])) {
      for (const prefix of ["", "hold", key.slice(0, key.indexOf("{") - 1)]) {
        expect(() => lockKey(prefix, key.slice(prefix.length))).toThrow(ConfigurationError);
      }
    }
    expect(() => lockKey("", "holdfast:fence:{x}")).toThrow(
      'cannot lock "holdfast:fence:{x}": keys that begin with holdfast:fence: are fence counters',
    );
    expect(() => lockKey("", "holdfast:sharers:{x}")).toThrow(
      'cannot lock "holdfast:sharers:{x}": keys that begin with holdfast:sharers: are sets of sharers',
    );
  });

  test("throws for a lone surrogate, which the server could not distinguish from others", () => {
    expect(() => lockKey("lock:", "a\ud800")).toThrow("is not well-formed Unicode");
    expect(lockKey("lock:", "🔒")).toBe("lock:🔒");
  });
});

describe("slotsError()", () => {
  test("returns an error for resources of several slots, which names them", () => {
    expect(slotsError("lock:", ["{a}:1", "{a}:2"])).toBeUndefined();
    expect(slotsError("{p}:", ["a", "b"])).toBeUndefined();
    const error = slotsError("lock:", ["a", "b"]);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error?.message).toMatch(
      /cannot lock "a" \(slot \d+\), "b" \(slot \d+\) together: they hash to different slots.*common hash tag/,
    );
  });
});

test("lockNames() returns the names in the README", () => {
  expect(lockNames("lock:", "invoice:42")).toEqual({
    lock: "lock:invoice:42",
    fence: "holdfast:fence:{ikhkhh}lock:",
    waitingList: "holdfast:line:{ikhkhh}lock:invoice:42",
    sharers: "holdfast:sharers:{ikhkhh}lock:invoice:42",
    channel: "holdfast:released:lock:invoice:42",
  });
  expect(() => lockNames("", "holdfast:fence:x")).toThrow(ConfigurationError);
});

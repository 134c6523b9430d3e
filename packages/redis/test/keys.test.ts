import { ConfigurationError } from "@holdfast/core";
import { startRedisCluster } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { clusterSlot, tagOfSlot } from "../src/cluster-slot.ts";
import { fenceKey, fenceKeyPrefix, keyNames, lockNames, sharersKey } from "../src/keys.ts";

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
    expect([tagOfSlot(0), tagOfSlot(1), tagOfSlot(16_383)]).toEqual(["1bz", "emj", "hia"]);
  });
});

describe("fenceKey()", () => {
  test("returns a key in the slot of the lock key, with any braces in it", async () => {
    const fenceKeys = lockKeys.map(fenceKey);
    expect(await slotsOf(fenceKeys)).toEqual(await slotsOf(lockKeys));
    expect(fenceKeys.map(clusterSlot)).toEqual(lockKeys.map(clusterSlot));
  });

  test("returns different keys for different lock keys", () => {
    expect(new Set(lockKeys.map(fenceKey)).size).toBe(lockKeys.length);
  });

  test("never changes, as counters on servers have these names", () => {
    expect(fenceKey("lock:invoice:42")).toBe("holdfast:fence:{lock:invoice:42}");
    expect(fenceKey("lock:{user:7}:mail")).toBe("holdfast:fence:{user:7}lock:{user:7}:mail");
    expect(fenceKey("lock:a{b")).toBe("holdfast:fence:{lock:a{b}");
    expect(fenceKey("lock:a}b")).toBe(`holdfast:fence:{${tagOfSlot(clusterSlot("lock:a}b"))}}lock:a}b`);
  });
});

describe("lockKeys()", () => {
  test("throws for a name that would be a fence key or a set of sharers, with any prefix", () => {
    for (const key of names.slice(0, 100).flatMap((name) => [fenceKey(name), sharersKey(name)])) {
      for (const prefix of ["", "hold", key.slice(0, key.indexOf("{") - 1)]) {
        expect(() => keyNames(prefix, false).lockKeys([key.slice(prefix.length)])).toThrow(ConfigurationError);
      }
    }
    expect(() => keyNames("", false).lockKeys(["holdfast:fence:{x}"])).toThrow(
      'cannot lock "holdfast:fence:{x}": keys that begin with holdfast:fence: are fence counters',
    );
    expect(() => keyNames("", false).lockKeys(["holdfast:sharers:{x}"])).toThrow(
      'cannot lock "holdfast:sharers:{x}": keys that begin with holdfast:sharers: are sets of sharers',
    );
  });

  test("throws for a lone surrogate, which the server could not distinguish from others", () => {
    expect(() => keyNames("lock:", false).lockKeys(["a", "a\ud800"])).toThrow("is not well-formed Unicode");
    expect(keyNames("lock:", false).lockKeys(["🔒"])).toEqual(["lock:🔒"]);
  });

  test("throws for several slots, but only on a cluster", () => {
    expect(keyNames("lock:", false).lockKeys(["a", "b"])).toEqual(["lock:a", "lock:b"]);
    expect(keyNames("lock:", true).lockKeys(["{a}:1", "{a}:2"])).toEqual(["lock:{a}:1", "lock:{a}:2"]);
    expect(() => keyNames("lock:", true).lockKeys(["a", "b"])).toThrow(
      /cannot lock "a" \(slot \d+\), "b" \(slot \d+\) together: they hash to different slots.*common hash tag/,
    );
  });
});

test("lockNames() returns the names in the README", () => {
  expect(lockNames("lock:", "invoice:42")).toEqual({
    lock: "lock:invoice:42",
    fence: "holdfast:fence:{lock:invoice:42}",
    waitingList: "holdfast:line:{lock:invoice:42}",
    sharers: "holdfast:sharers:{lock:invoice:42}",
    channel: "holdfast:released:lock:invoice:42",
  });
  expect(() => lockNames("", "holdfast:fence:x")).toThrow(ConfigurationError);
});

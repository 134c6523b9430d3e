import { ConfigurationError } from "@holdfast/core";
import { characterAt, fuzzSeed, isNightly, lastCharacter } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clusterSlot, fenceKeyPrefix, type LockNames, lockKey, lockNames, sharersKeyPrefix } from "../src/keys.ts";
import { parseOptions, type RedisNodeOptions } from "../src/options.ts";

fc.configureGlobal({ seed: fuzzSeed });

/** Any UTF-16, including lone surrogates, and characters with a meaning in keys. */
const anyString = fc.oneof(
  fc.string({ unit: fc.nat(lastCharacter).map(characterAt) }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
  fc.string({
    unit: fc.constantFrom("{", "}", "a", ":", "\u0000", "\ud83d", "\udd12", fenceKeyPrefix, sharersKeyPrefix),
    maxLength: 6,
  }),
);

const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);
const keyOf = (prefix: string, name: string): string | undefined => {
  try {
    return lockKey(prefix, name);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return undefined;
  }
};

describe("keys of any names", { timeout: 60_000 }, () => {
  test("lockKey() returns prefix and name unchanged by UTF-8, or throws a ConfigurationError", () => {
    fc.assert(
      fc.property(fc.constantFrom("", "lock:", "{p}:", "p{"), anyString, (prefix, name) => {
        const key = keyOf(prefix, name);
        const isGood = isWellFormed(name) && !/^holdfast:(fence|sharers):/.test(`${prefix}${name}`);
        expect(key).toBe(isGood ? `${prefix}${name}` : undefined);
        if (key !== undefined) expect(Buffer.from(key).toString()).toBe(key);
      }),
      { numRuns: isNightly ? 2_000 : 200 },
    );
  });

  test("no two names share a key, and no lock key is a fence key or a set of sharers", () => {
    fc.assert(
      fc.property(fc.constantFrom("", "lock:", "{p}:", "p{"), fc.tuple(anyString, anyString), (prefix, [a, b]) => {
        fc.pre(a !== b && a !== "" && b !== ""); // requests with empty names are refused earlier
        const [one, other] = [keyOf(prefix, a), keyOf(prefix, b)];
        fc.pre(one !== undefined && other !== undefined);
        const [ofOne, ofOther] = [a, b].map((name) => lockNames(prefix, name)) as [LockNames, LockNames];
        const own = [ofOne, ofOther].flatMap(({ lock, waitingList, sharers }) => [lock, waitingList, sharers]);
        // Only the counter may be common, to names of one slot.
        expect(new Set([...own, ofOne.fence]).size).toBe(7);
        expect(new Set([...own, ofOther.fence]).size).toBe(7);
        expect(ofOne.fence === ofOther.fence).toBe(clusterSlot(one) === clusterSlot(other));
        for (const { lock, fence, waitingList, sharers } of [ofOne, ofOther]) {
          expect([fence, waitingList, sharers].map(clusterSlot)).toEqual(Array(3).fill(clusterSlot(lock)));
        }
      }),
      { numRuns: isNightly ? 2_000 : 200 },
    );
  });
});

describe("parseOptions() with any values", { timeout: 60_000 }, () => {
  const allowed: Record<string, (value: unknown) => boolean> = {
    name: (value) => typeof value === "string" && value !== "",
    prefix: (value) => typeof value === "string" && isWellFormed(value) && !/^holdfast:(fence|sharers):/.test(value),
    restartGuardMs: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
    wakeUps: (value) => typeof value === "boolean",
  };
  const anyValue = fc.oneof(
    fc.anything({ withBigInt: true, withNullPrototype: true, withBoxedValues: true, withDate: true }),
    fc.constantFrom(0, 1, -1, 2 ** 53, Infinity, Number.NaN, true, Symbol("s"), ""),
    anyString,
  );

  test("accepts the documented values, and throws a TypeError or RangeError that names any other", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(allowed)), anyValue, (option, value) => {
        const parse = () => parseOptions({ [option]: value } as RedisNodeOptions, "n");
        const isAllowed = value === undefined || allowed[option]?.(value);
        if (isAllowed) expect(parse).not.toThrow();
        else expect(parse).toThrow(new RegExp(`^${option} must`));
      }),
      { numRuns: isNightly ? 2_000 : 200 },
    );
  });

  test("throws a TypeError for options that are not an object", () => {
    const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
    fc.assert(
      fc.property(anyValue, (value) => {
        fc.pre(!isObject(value));
        expect(() => parseOptions(value as RedisNodeOptions, "n")).toThrow(
          "the options of a lock node must be an object",
        );
      }),
      { numRuns: 300 },
    );
  });
});

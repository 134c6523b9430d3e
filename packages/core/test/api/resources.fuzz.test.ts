import { characterAt, fuzzSeed, lastCharacter } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

/** Any UTF-16, including lone surrogates, and characters that are special to servers. */
const anyString = fc.oneof(
  fc.string({ unit: fc.nat(lastCharacter).map(characterAt) }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
  fc.string({ unit: fc.constantFrom("{", "}", "a", "\u0000", "\ud800", "\udc00", "é", "🔒"), maxLength: 5 }),
);

const isName = (value: unknown): boolean => typeof value === "string" && value !== "" && !/\p{Surrogate}/u.test(value);

describe("any names of resources", { timeout: 60_000 }, () => {
  it("acquire() locks well-formed names, sorted and deduplicated, and refuses all others before sending", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.array(anyString, { maxLength: 4 }), fc.array(fc.anything())), async (names) => {
        const { redlock, clock, nodes } = world(3);
        if (names.length > 0 && names.every(isName)) {
          const lock = await clock.until(redlock.acquire(names as string[]));
          expect(lock.resources).toEqual([...new Set(names as string[])].sort());
          await clock.until(lock.release());
        } else {
          const error = await redlock.acquire(names as string[]).catch((reason: unknown) => reason);
          if (!(error instanceof TypeError)) expect(error).toBeInstanceOf(RangeError);
          expect(nodes.flatMap(({ calls }) => calls)).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("inspect() finds the lock on its resource, and no lock on another one", async () => {
    await fc.assert(
      fc.asyncProperty(anyString.filter(isName), anyString.filter(isName), async (name, other) => {
        fc.pre(name !== other);
        const { redlock, clock } = world(3);
        const lock = await clock.until(redlock.acquire(name));
        expect(await clock.until(redlock.inspect(name))).toMatchObject({ owner: lock.owner });
        expect(await clock.until(redlock.inspect(other))).toMatchObject({ owner: null });
        expect(await clock.until(redlock.tryAcquire(other))).not.toBeNull();
      }),
      { numRuns: 100 },
    );
  });
});

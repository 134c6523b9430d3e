import { type LockOptions, Redlock, type RedlockOptions } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { characterAt, fuzzSeed, isNightly, lastCharacter } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

/** The documented range of each option, given three nodes and the defaults of all other options. */
const allowed: Record<keyof LockOptions, (value: unknown) => boolean> = {
  mode: (value) => value === "exclusive" || value === "shared",
  ttlMs: (value) => Number.isSafeInteger(value) && (value as number) > 2,
  waitTimeoutMs: (value) => isFrom(value, 0),
  signal: (value) => value instanceof AbortSignal,
  label: (value) => typeof value === "string" && /^\P{C}{1,100}$/u.test(value),
  autoExtend: (value) => typeof value === "boolean",
  maxHoldMs: (value) => isFrom(value, 10_000),
  awaitRelease: (value) => typeof value === "boolean",
};
type ServerOption = Exclude<keyof RedlockOptions, keyof LockOptions | "observer" | "clock">;
const allowedForRedlock: Record<keyof LockOptions | ServerOption, (value: unknown) => boolean> = {
  ...allowed,
  nodeTimeoutMs: (value) => isFrom(value, Number.MIN_VALUE) && value < 10_000,
  driftFactor: (value) => isFrom(value, 0) && value < 1 && 10_000 * value + 2 < 10_000,
  quorum: (value) => value === 2 || value === 3,
  retryDelayMs: (value) => isFrom(value, Number.MIN_VALUE) && value <= 400,
  retryDelayMaxMs: (value) => isFrom(value, 25),
  maxWaiters: (value) => Number.isSafeInteger(value) && (value as number) > 0,
  generation: (value) => Number.isSafeInteger(value) && isFrom(value, 0) && value < 2 ** 50,
  nesting: (value) => ["run", "lockAround"].every((method) => typeof Object(value)[method] === "function"),
};

function isFrom(value: unknown, least: number): value is number {
  return typeof value === "number" && value >= least;
}

const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
});
const anyValue = fc.oneof(
  anything,
  fc.double(),
  fc.integer({ min: -1, max: 20_000 }),
  fc.constantFrom(0, -0, 1, 2, 3, 49, 50, 51, 2 ** 53 - 1, 2 ** 53, Number.POSITIVE_INFINITY, Number.NaN, Symbol("s")),
  fc.string({ unit: fc.nat(lastCharacter).map(characterAt), minLength: 1, maxLength: 101 }),
  fc.constant(AbortSignal.abort()),
  fc.func(fc.integer()),
);
const anyOption = fc.tuple(fc.constantFrom(...(Object.keys(allowed) as (keyof LockOptions)[])), anyValue);
const names = Object.keys(allowedForRedlock) as (keyof typeof allowedForRedlock)[];
const anyOptionOfRedlock = fc.tuple(fc.constantFrom(...names), anyValue);

describe("any value of any option", { timeout: 60_000 }, () => {
  it("Redlock() accepts the documented values, and refuses all others with an error that names the option", () => {
    const nodes = [memoryNode(), memoryNode(), memoryNode()];
    fc.assert(
      fc.property(anyOptionOfRedlock, ([name, value]) => {
        const error = errorOf(() => new Redlock(nodes, { [name]: value }));
        if (value === undefined || allowedForRedlock[name](value)) expect(error).toBeUndefined();
        else expectRefusal(error, name);
      }),
      { numRuns: isNightly ? 3_000 : 1_000 },
    );
  });

  it("acquire() refuses a bad value before anything is sent", async () => {
    const { redlock, nodes } = world(3);
    await fc.assert(
      fc.asyncProperty(anyOption, async ([name, value]) => {
        fc.pre(value !== undefined && !allowed[name](value));
        expectRefusal(await redlock.acquire("r", { [name]: value }).catch((error: unknown) => error), name);
        expect(nodes.flatMap(({ calls }) => calls)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("acquire() refuses an unknown option, whatever its name", async () => {
    const { redlock, nodes } = world(3);
    await fc.assert(
      fc.asyncProperty(fc.string(), async (name) => {
        fc.pre(!Object.hasOwn(allowedForRedlock, name) && name !== "__proto__");
        const shown = /^\w{1,40}$/.test(name) ? name : "a property";
        await expect(redlock.acquire("r", { [name]: 1 })).rejects.toThrow(`${shown} is not an option of a lock`);
        expect(nodes.flatMap(({ calls }) => calls)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

function errorOf(act: () => unknown): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Expects an error that names the option, or clock drift if the drift factor leaves nothing of the ttl. */
function expectRefusal(error: unknown, name: string): void {
  if (!(error instanceof TypeError)) expect(error).toBeInstanceOf(RangeError);
  expect((error as Error).message).toContain(name === "driftFactor" ? "drift" : name);
}

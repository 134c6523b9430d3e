/**
 * A setup file of vitest for tests on a virtual clock: each test draws the same random numbers in every run, so that a
 * random delay never decides whether it passes. `HOLDFAST_FUZZ_SEED` draws others.
 *
 * Each file has its own modules: core draws the bytes of owners ahead. Those that an earlier file has left would be drawn
 * again, and two locks would have one owner.
 */
import { afterAll, beforeEach, vi } from "vitest";
import { fuzzSeed } from "../../packages/testkit/src/fuzz-seed.ts";

vi.resetModules();

const original = { random: Math.random, getRandomValues: crypto.getRandomValues };

/** Returns the multiplicative generator of Park and Miller: numbers from 0 to below 1. */
function generator(): () => number {
  let state = 1 + (fuzzSeed % 2_147_483_646);
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

Math.random = generator();
/** One sequence for all tests of a file: owners must differ, and core draws the bytes for many of them at once. */
const nextByte = generator();
crypto.getRandomValues = (array) => {
  if (array === null) return array;
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let index = 0; index < bytes.length; index++) bytes[index] = 256 * nextByte();
  return array;
};

beforeEach(() => {
  Math.random = generator();
});

afterAll(() => {
  Math.random = original.random;
  crypto.getRandomValues = original.getRandomValues;
});

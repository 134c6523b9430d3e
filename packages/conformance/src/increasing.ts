import { expect } from "vitest";

/** Fails unless each fence is larger than the one before it. */
export function expectStrictlyIncreasing(fences: readonly number[]): void {
  expect(fences).toEqual([...new Set(fences)].sort((one, other) => one - other));
}

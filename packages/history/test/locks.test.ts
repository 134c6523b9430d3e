import { type LockedTime, overlapsOf, tokenFaultsOf } from "@holdfast/history/checks";
import { describe, expect, test } from "vitest";

/** A lock on `stock` with a token of its own, attempted just before its grant. */
function lock(grantedAtMs: number, heldUntilMs: number, more: Partial<LockedTime> = {}): LockedTime {
  const times = { attemptAtMs: grantedAtMs - 1, grantedAtMs, heldUntilMs };
  return { resources: ["stock"], fence: 1_000 + grantedAtMs, ...times, ...more };
}

describe("overlapsOf()", () => {
  test("overlapsOf() accepts locks that follow each other, in any order", () => {
    expect(overlapsOf([lock(20, 30), lock(10, 20)])).toEqual([]);
  });

  test("overlapsOf() finds a grant during another lock, even one that began long before", () => {
    const [long, short, late] = [lock(10, 100), lock(20, 30), lock(90, 120)];
    expect(overlapsOf([short, late, long])).toEqual([
      { earlier: long, later: short },
      { earlier: long, later: late },
    ]);
  });

  test("overlapsOf() finds two locks on several resources once, and accepts locks on different ones", () => {
    const both = { resources: ["cash", "stock"] };
    expect(overlapsOf([lock(10, 20, both), lock(15, 25, both)])).toHaveLength(1);
    expect(overlapsOf([lock(10, 20, both), lock(15, 25, { resources: ["shop"] })])).toEqual([]);
  });
});

describe("tokenFaultsOf()", () => {
  test("tokenFaultsOf() finds a token that is smaller than that of an earlier lock", () => {
    const [right, wrong] = [lock(10, 20), lock(30, 40, { fence: 1 })];
    expect(tokenFaultsOf([wrong, right])).toEqual([{ earlier: right, later: wrong }]);
    expect(tokenFaultsOf([wrong, right], () => true)).toEqual([]);
  });

  test("tokenFaultsOf() remembers the largest token of more locks than it keeps", () => {
    const many = Array.from({ length: 5_000 }, (_, index) => lock(10 * index, 10 * index + 5));
    const largest = lock(-100, -99, { fence: 1e6 });
    const faults = tokenFaultsOf([largest, ...many]);
    expect(faults).toHaveLength(5_000);
    expect(faults.at(-1)).toEqual({ earlier: largest, later: many.at(-1) });
    expect(tokenFaultsOf(many)).toEqual([]);
  });
});

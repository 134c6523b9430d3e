import { describe, expect, it } from "vitest";
import { freshOwner } from "../../src/claim.ts";
import { labelOf } from "../../src/errors.ts";
import { majorityOf } from "../../src/node-sets.ts";
import { retryDelay } from "../../src/pause.ts";

describe("rules", () => {
  it("majorityOf() makes any two quorums share a node", () => {
    expect([1, 2, 3, 4, 5, 6, 7].map(majorityOf)).toEqual([1, 2, 2, 3, 3, 4, 4]);
    for (let count = 1; count < 100; count++) expect(2 * majorityOf(count)).toBeGreaterThan(count);
  });

  it("freshOwner() never repeats, and labelOf() returns the label whatever it contains", () => {
    const owners = new Set(Array.from({ length: 10_000 }, () => freshOwner(undefined)));
    expect(owners.size).toBe(10_000);
    expect([...owners].filter((owner) => !/^[0-9a-f]{32}$/.test(owner))).toEqual([]);
    expect(labelOf(freshOwner(undefined))).toBeNull();
    expect(labelOf(freshOwner("host:17: a b"))).toBe("host:17: a b");
    expect(labelOf(freshOwner("host:17: a b", 12))).toBe("host:17: a b");
    expect(freshOwner("host", 12)).toMatch(/^host:[0-9a-f]{32}\.12$/);
  });

  it("retryDelay() is random, grows with the failures, is capped, and is never zero", () => {
    const delays = { retryDelayMs: 10, retryDelayMaxMs: 100 };
    for (const [failures, limitMs] of [
      [1, 10],
      [2, 20],
      [3, 40],
      [4, 80],
      [5, 100],
      [1000, 100],
    ] as const) {
      const samples = Array.from({ length: 500 }, () => retryDelay(delays, failures, undefined));
      expect(Math.min(...samples)).toBeGreaterThanOrEqual(1);
      expect(Math.max(...samples)).toBeLessThanOrEqual(limitMs);
      expect(Math.max(...samples)).toBeGreaterThan(limitMs / 2);
    }
  });

  it("retryDelay() ends shortly after the blocking claim", () => {
    const delays = { retryDelayMs: 10, retryDelayMaxMs: 10_000 };
    for (let sample = 0; sample < 500; sample++) {
      expect(retryDelay(delays, 20, 50)).toBeLessThanOrEqual(60);
    }
  });
});

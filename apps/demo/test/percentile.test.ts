import { describe, expect, it } from "vitest";
import { percentile } from "../src/model/percentile.ts";

describe("percentile()", () => {
  it("percentile() is the value that so large a share does not exceed", () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index);
    expect(percentile(values, 0.5)).toBe(100);
    expect(percentile(values, 0.99)).toBe(198);
    expect(percentile(values, 1)).toBe(200);
    expect(percentile(values, 0)).toBe(1);
  });

  it("percentile() sorts by value, and leaves what it is given as it is", () => {
    const values = [10, 9, 100];
    expect(percentile(values, 0.5)).toBe(10);
    expect(values).toEqual([10, 9, 100]);
  });

  it("percentile() of nothing is null", () => {
    expect(percentile([], 0.5)).toBeNull();
  });
});

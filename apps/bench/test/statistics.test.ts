import { expect, test } from "vitest";
import { jainOf, quantileOf, quartilesOf } from "../src/measure/statistics.ts";

test("quantileOf() interpolates between neighbours", () => {
  expect(quantileOf([10, 20, 30, 40], 0)).toBe(10);
  expect(quantileOf([10, 20, 30, 40], 0.5)).toBe(25);
  expect(quantileOf([10, 20, 30, 40], 0.99)).toBeCloseTo(39.7);
  expect(quantileOf([10, 20, 30, 40], 1)).toBe(40);
  expect(quantileOf([7], 0.99)).toBe(7);
  expect(quantileOf([], 0.5)).toBeNaN();
});

test("quartilesOf() sorts numbers as numbers, and leaves its argument as it is", () => {
  const values = [100, 9, 20, 1_000, 3];
  expect(quartilesOf(values)).toEqual({ low: 9, median: 20, high: 100 });
  expect(values).toEqual([100, 9, 20, 1_000, 3]);
});

test("jainOf() is 1 for equal shares, 1/n if one has everything, and otherwise between these", () => {
  expect(jainOf([5, 5, 5, 5])).toBe(1);
  expect(jainOf([0, 0, 0, 9])).toBe(0.25);
  expect(jainOf([1, 2, 3])).toBeCloseTo(36 / 42);
  expect(jainOf([0, 0])).toBeNaN();
});

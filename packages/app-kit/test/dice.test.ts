import { expect, test } from "vitest";
import { createDice } from "../src/dice.ts";

const draws = (seed: number): number[] => {
  const dice = createDice(seed);
  return Array.from({ length: 200 }, () => dice.integer(1, 6));
};

test("createDice() draws the same from the same seed, and something else from another", () => {
  expect(draws(1)).toEqual(draws(1));
  expect(draws(1)).not.toEqual(draws(2));
});

test("integer() draws every number of its range, and no other", () => {
  expect([...new Set(draws(1))].sort()).toEqual([1, 2, 3, 4, 5, 6]);
});

test("some() draws different values, and at most all of them", () => {
  const dice = createDice(1);
  for (let time = 0; time < 50; time++) expect(new Set(dice.some([1, 2, 3, 4, 5], 3)).size).toBe(3);
  expect(dice.some([1, 2, 3], 9).sort()).toEqual([1, 2, 3]);
});

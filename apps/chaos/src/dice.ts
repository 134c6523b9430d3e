import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** Draws that follow from a seed. */
export interface Dice {
  /** A whole number from the one to the other, both included. */
  integer(least: number, most: number): number;
  /** So many of several, in a random order. */
  some<T>(choices: readonly T[], count: number): T[];
}

/** Makes dice of a seed. */
export function createDice(seed: number): Dice {
  const generator = xoroshiro128plus(seed);
  const integer = (least: number, most: number): number => uniformInt(generator, least, most);
  return {
    integer,
    some(choices, count) {
      const left = [...choices];
      return Array.from({ length: Math.min(count, left.length) }, () =>
        left.splice(integer(0, left.length - 1), 1),
      ).flat();
    },
  };
}

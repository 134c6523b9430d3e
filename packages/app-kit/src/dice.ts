import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** Random draws that a seed determines. */
export type Dice = ReturnType<typeof createDice>;

/** Makes dice from a seed. */
export function createDice(seed: number) {
  const generator = xoroshiro128plus(seed);
  /** Draws a whole number between the two, both included. */
  const integer = (least: number, most: number): number => uniformInt(generator, least, most);
  return {
    integer,
    /** Draws one of several. */
    one: <T>(choices: readonly T[]) => choices[integer(0, choices.length - 1)] as T,
    /** Draws that many of several, in random order. */
    some<T>(choices: readonly T[], count: number): T[] {
      const left = [...choices];
      return Array.from({ length: Math.min(count, left.length) }, () =>
        left.splice(integer(0, left.length - 1), 1),
      ).flat();
    },
  };
}

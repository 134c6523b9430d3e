/** Draws that follow from a seed. */
export interface Dice {
  /** A whole number between the two, both included. */
  integer(least: number, most: number): number;
  /** One of several. */
  one<T>(choices: readonly T[]): T;
  /** So many of several, in the order of the choices. */
  some<T>(choices: readonly T[], count: number): T[];
}

/** Makes dice from a seed: the generator is mulberry32. */
export function createDice(seed: number): Dice {
  let state = seed | 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (least: number, most: number): number => least + Math.floor(fraction() * (most - least + 1));
  return {
    integer,
    one: (choices) => choices[integer(0, choices.length - 1)] as (typeof choices)[number],
    some(choices, count) {
      const left = [...choices];
      while (left.length > count) left.splice(integer(0, left.length - 1), 1);
      return left;
    },
  };
}

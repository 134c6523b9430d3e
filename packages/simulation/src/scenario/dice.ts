/**
 * Random numbers that follow from a seed, and that fork: what a fork yields depends on the seed and its label alone, and
 * not on what was drawn before. So each message of each connection has its own luck, and leaving out one of the events of
 * a simulation does not reshuffle the others.
 */
export class Dice {
  readonly #origin: number;
  #state: number;

  /** @param seed a safe integer */
  constructor(seed: number) {
    this.#origin = scramble(scramble(seed) ^ Math.floor(seed / 2 ** 32));
    this.#state = this.#origin;
  }

  /** Dice of its own for what the label names. */
  fork(label: string | number): Dice {
    return new Dice(scramble(this.#origin ^ (typeof label === "number" ? scramble(label) : hash(label))));
  }

  /** A number from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    return (scramble(this.#state) >>> 0) / 2 ** 32;
  }

  /** A number between the two. */
  between(least: number, most: number): number {
    return least + (most - least) * this.next();
  }

  /** A whole number from the one to the other, both included. */
  integer(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  /** Whether something of this probability happens. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of several. */
  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)] as T;
  }

  /** So many of several, in a random order. */
  some<T>(choices: readonly T[], count: number): T[] {
    const left = [...choices];
    return Array.from(
      { length: Math.min(count, left.length) },
      () => left.splice(this.integer(0, left.length - 1), 1)[0] as T,
    );
  }
}

/** Mixes the bits of a 32-bit integer so that similar ones have nothing in common: the finalizer of MurmurHash3. */
function scramble(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value;
}

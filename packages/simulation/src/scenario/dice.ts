/**
 * A seeded random number generator that can fork. The numbers of a fork depend only on the seed and the fork's label,
 * not on earlier draws. Each message of each connection has a separate fork, so that removing one event from a
 * simulation does not change the others.
 */
export class Dice {
  readonly #origin: number;
  #state: number;

  /** @param seed a safe integer */
  constructor(seed: number) {
    this.#origin = scramble(scramble(seed) ^ Math.floor(seed / 2 ** 32));
    this.#state = this.#origin;
  }

  /** Returns an independent generator for a label. */
  fork(label: string | number): Dice {
    return new Dice(scramble(this.#origin ^ (typeof label === "number" ? scramble(label) : hash(label))));
  }

  /** Returns a number from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    return (scramble(this.#state) >>> 0) / 2 ** 32;
  }

  /** Returns a number between the two. */
  between(least: number, most: number): number {
    return least + (most - least) * this.next();
  }

  /** Returns a whole number between the two, both included. */
  integer(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  /** Returns true with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns one of the choices. */
  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)] as T;
  }

  /** Returns `count` of the choices, in random order. */
  some<T>(choices: readonly T[], count: number): T[] {
    const left = [...choices];
    return Array.from(
      { length: Math.min(count, left.length) },
      () => left.splice(this.integer(0, left.length - 1), 1)[0] as T,
    );
  }
}

/** Mixes the bits of a 32-bit integer so that similar inputs give unrelated results: the finalizer of MurmurHash3. */
function scramble(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** The FNV-1a hash of a string. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value;
}

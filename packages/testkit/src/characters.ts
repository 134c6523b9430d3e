/** How many characters Unicode has room for, halves of surrogate pairs left out. */
const characterCount = 0x10_f800;

/** The index of the last character. */
export const lastCharacter: number = characterCount - 1;

/**
 * Returns a character by its index, for strings of any of them: `fc.string({ unit: fc.nat(lastCharacter).map(characterAt) })`.
 * The unit "binary" of fast-check draws the same, but first lists all of them, which takes more than a second.
 */
export function characterAt(index: number): string {
  return String.fromCodePoint(index < 0xd800 ? index : index + 0x800);
}

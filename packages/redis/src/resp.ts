/*
 * Text in the Redis protocol, before it becomes bytes: each of its characters is one byte (`latin1`), also where a word is
 * not ASCII. So it is joined as a string is, and written as fast as memory is copied.
 */

/** Words, one after the other: bulk strings. */
export function bulks(words: readonly string[]): string {
  let text = "";
  for (const word of words) text += bulk(word);
  return text;
}

/** One word: a bulk string. */
export function bulk(word: string): string {
  const bytes = isAscii(word) ? word : Buffer.from(word).toString("latin1");
  return `$${bytes.length}\r\n${bytes}\r\n`;
}

/** What others take three times as long for: that no character takes more than one byte. */
function isAscii(word: string): boolean {
  return Buffer.byteLength(word) === word.length;
}

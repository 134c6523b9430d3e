/** Some words of a command, which may be sent to several servers. */
export interface Words {
  readonly list: readonly string[];
  /** The same as they are written to a socket, once that is known. */
  resp?: string;
}

/** Makes words of strings. */
export function words(list: readonly string[]): Words {
  return { list };
}

/** The words as they are written to a socket. */
export function respOf(words: Words): string {
  words.resp ??= words.list.map(bulk).join("");
  return words.resp;
}

/** One word as it is written to a socket: a bulk string. */
export function bulk(word: string): string {
  return `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
}

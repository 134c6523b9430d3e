/** Some words of a command, which may be sent to several servers. */
export interface Words {
  readonly list: readonly string[];
}

/** Makes words of strings. */
export function words(list: readonly string[]): Words {
  return { list };
}

/** Parses plain command lines without yargs, which takes longer to load than a lock takes to acquire. */
import { parseArgs } from "node:util";
import type { Options } from "yargs";

/** A command line that does not need yargs. */
export interface PlainArguments {
  /** The words that are not options or their values. */
  readonly positionals: readonly string[];
  /** The values by option name: a string, true, or a list if the option is one. */
  readonly values: Readonly<Record<string, string | boolean | readonly string[]>>;
}

/**
 * Words that yargs treats specially: "-"; words with quotes, which it removes; `true` and `false`, which a flag before
 * them takes as its value; and short options with their value in the same word.
 */
const isSpecial = /^-$|['"]|^(true|false)$|^-[^-]./i;

/**
 * Parses words as yargs does.
 *
 * @param words the words after the command, up to `--`
 * @param definitions the options of the command; only their types, aliases and conflicts count here
 * @returns undefined for everything that is not plain, such as mistakes and `--help`, which only yargs can answer
 */
export function readPlainArguments(
  words: readonly string[],
  definitions: Readonly<Record<string, Options>>,
): PlainArguments | undefined {
  if (words.some((word) => isSpecial.test(word))) return undefined;
  const parsed = parseStrictly(words, definitions);
  if (parsed === undefined) return undefined;
  const values: Record<string, string | boolean | readonly string[]> = {};
  for (const [name, given = []] of Object.entries(parsed.values)) {
    const { array = false, conflicts } = definitions[name] ?? {};
    if (!array && given.length > 1) return undefined;
    if ([conflicts ?? []].flat().some((other) => parsed.values[String(other)] !== undefined)) return undefined;
    values[name] = array ? (given as string[]) : (given[0] as string | boolean);
  }
  return { positionals: parsed.positionals, values };
}

function parseStrictly(words: readonly string[], definitions: Readonly<Record<string, Options>>) {
  const options = Object.entries(definitions).map(([name, { type, alias }]) => {
    const short = typeof alias === "string" ? { short: alias } : {};
    return [name, { type: type === "boolean" ? type : "string", multiple: true, ...short }] as const;
  });
  try {
    return parseArgs({ args: [...words], options: Object.fromEntries(options), allowPositionals: true });
  } catch {
    return undefined;
  }
}

import { parseArgs } from "node:util";
import type { Command, Given } from "../command.ts";
import { UsageError } from "../exit-codes.ts";

/**
 * Finds the options and positional arguments of a command.
 *
 * @param words the command line after the name of the command, up to `--`
 * @throws {UsageError} naming the problem
 */
export function parseWords(command: Command, words: readonly string[]): Given {
  const { values, positionals } = parseStrictly(command, words);
  const given = { ...values, ...placed(command, positionals) };
  const all = Object.entries({ ...command.words, ...command.options });
  for (const [name, { conflicts = [], implies, isRequired, choices }] of all) {
    if (given[name] === undefined) {
      if (isRequired) throw wrong(`Missing required argument: ${name}`);
      continue;
    }
    const other = conflicts.find((each) => given[each] !== undefined);
    if (other !== undefined) throw wrong(`Arguments ${name} and ${other} are mutually exclusive`);
    if (implies !== undefined && given[implies] === undefined) {
      throw wrong(`Missing dependent arguments: ${name} -> ${implies}`);
    }
    const odd = given[name].find((value) => choices?.includes(String(value)) === false);
    if (odd !== undefined)
      throw wrong(`Invalid values: Argument: ${name}, Given: "${odd}", Choices: ${choices?.join(", ")}`);
  }
  return given;
}

function wrong(problem: string): UsageError {
  return new UsageError(`${problem}; see holdfast --help`);
}

function parseStrictly({ options }: Command, words: readonly string[]) {
  const types = Object.entries(options).map(([name, { type, alias }]) => {
    return [name, { type, multiple: true, ...(alias !== undefined && { short: alias }) }] as const;
  });
  try {
    return parseArgs({ args: [...words], options: Object.fromEntries(types), allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [, found = ""] = /'(?:-\w, )?-{0,2}([^' ]*)/.exec(message) ?? [];
    const [name = found] = Object.keys(options).filter((each) => options[each]?.alias === found);
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") throw wrong(`Unknown argument: ${name}`);
    const isMissing = !message.includes("does not take");
    throw wrong(isMissing ? `Not enough arguments following: ${name}` : `--${name} takes no value`);
  }
}

/** Names the positional arguments, of which the last may be repeated. */
function placed({ line, words }: Command, found: readonly string[]): Given {
  const names = Object.keys(words);
  const least = line.split(" <").length - 1;
  if (found.length < least) {
    throw wrong(`Not enough non-option arguments: got ${found.length}, need at least ${least}`);
  }
  const isRepeated = line.includes("..");
  const extra = found.slice(names.length);
  if (extra.length > 0 && !isRepeated) throw wrong(`Unknown argument: ${extra.join(", ")}`);
  const values = names.map((name, index) => [name, isRepeated ? found : found.slice(index, index + 1)] as const);
  return Object.fromEntries(values.filter(([, list]) => list.length > 0));
}

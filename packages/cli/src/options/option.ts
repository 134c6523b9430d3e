/** Options and positional arguments: what the parser and the help need to know of each, and how its value is read. */

import { timerMaxMs } from "@holdfast/core/node";
import ms from "ms";
import { UsageError } from "../exit-codes.ts";

/** What the parser and the help need to know of an option or a positional argument. */
export interface Described {
  readonly type: "string" | "boolean";
  readonly describe: string;
  /** The title above the option in the help. */
  readonly group?: string;
  /** A name of one letter. */
  readonly alias?: string;
  /** The words that may be its value; others are refused. */
  readonly choices?: readonly string[];
  /** The word that counts if none is given. */
  readonly usual?: string;
  /** The options that cannot be given together with it. */
  readonly conflicts?: readonly string[];
  /** The option without which it makes no sense. */
  readonly implies?: string;
  readonly isRequired?: boolean;
}

/** What a command line has for one option: each of its values, or true for each time that it is given without one. */
export type GivenValues = readonly (string | boolean)[] | undefined;

/** An option or a positional argument. */
export interface Option<Value> extends Described {
  /**
   * Returns the value.
   *
   * @param name the name for errors, such as `--ttl`
   * @throws {UsageError} naming the problem
   */
  readonly read: (given: GivenValues, name: string) => Value;
}

type More = Partial<Described>;

/** The options with these values, by name. */
export type OptionsOf<Values> = { readonly [Name in keyof Values]: Option<Values[Name]> };

/** The values of options, by name. */
export type ValuesOf<Options> = {
  readonly [Name in keyof Options]: Options[Name] extends Option<infer Value> ? Value : never;
};

/** Returns an option without a value. */
export function flag(describe: string, more: More = {}): Option<boolean> {
  return { type: "boolean", describe, ...more, read: (given) => given !== undefined };
}

/** Returns an option with a value, that may be given once. */
export function text(describe: string, more: More = {}): Option<string | undefined> {
  return { type: "string", describe, ...more, read: only };
}

/** Returns an option, or a positional argument, that is repeated for each of several values. */
export function list(describe: string, more: More = {}): Option<readonly string[]> {
  return { ...text(describe, more), read: all };
}

/** Returns an option whose value is one of several words. */
export function oneOf<Word extends string>(
  choices: readonly Word[],
  describe: string,
  more: More = {},
): Option<Word | undefined> {
  return { ...text(describe, { choices, ...more }), read: (given, name) => only(given, name) as Word | undefined };
}

/** Returns an option whose value a function parses: undefined if it was not given. */
export function parsed<Value>(
  parse: (name: string, text: string) => Value,
  describe: string,
  more: More = {},
): Option<Value | undefined> {
  const read = (given: GivenValues, name: string): Value | undefined => {
    const value = only(given, name);
    return value === undefined ? undefined : parse(name, value);
  };
  return { ...text(describe, more), read };
}

/** Returns an option whose value a function parses, with a default, which its description names. */
export function withDefault<Value>(
  usual: string,
  parse: (name: string, text: string) => Value,
  describe: string,
  more: More = {},
): Option<Value> {
  const read = (given: GivenValues, name: string): Value => parse(name, only(given, name) ?? usual);
  return { ...text(`${describe} (default: ${usual})`, more), read };
}

/** Returns an option with a duration, in milliseconds. */
export function duration(usual: string, describe: string, more: More = {}): Option<number> {
  return withDefault(usual, parseDuration, describe, more);
}

/** Returns an option with a duration above 0, in milliseconds. */
export function pause(usual: string, describe: string, more: More = {}): Option<number> {
  const parse = (name: string, given: string): number => {
    const valueMs = parseDuration(name, given);
    if (valueMs > 0) return valueMs;
    throw new UsageError(`${name} must be longer than 0`);
  };
  return withDefault(usual, parse, describe, more);
}

/** Returns a function that parses an integer in a range. */
export function integerFrom(least: number, most: number): (name: string, text: string) => number {
  return (name, text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new UsageError(`${name} must be a number from ${least} to ${most}, not ${JSON.stringify(text)}`);
  };
}

/** Returns a positional argument, with the value that it has if it is left out or empty. */
export function word(describe: string, usual = ""): Option<string> {
  return { ...text(describe), read: (given) => String(given?.[0] ?? "") || usual };
}

/** The option of commands that report. */
export const json: Option<boolean> = flag("Print one line of JSON");

/** Reads the values of options from what the parser has found. */
export function readValues<Values>(options: OptionsOf<Values>, given: Readonly<Record<string, GivenValues>>): Values {
  const entries = Object.entries<Option<unknown>>(options).map(([name, { read }]) => {
    return [name, read(given[name], `--${name}`)];
  });
  return Object.fromEntries(entries);
}

/** Returns the description of an option with its choices and its default. */
export function remarked({ describe, choices, usual }: Described): string {
  const remarks = [...(choices ? [`one of ${choices.join(", ")}`] : []), ...(usual ? [`default: ${usual}`] : [])];
  return `${describe}${remarks.length > 0 ? ` (${remarks.join("; ")})` : ""}`;
}

function all(given: GivenValues): readonly string[] {
  return (given ?? []).map(String);
}

function only(given: GivenValues, name: string): string | undefined {
  const [value, ...others] = all(given);
  if (others.length > 0) throw new UsageError(`${name} was given ${others.length + 1} times`);
  return value;
}

/**
 * Parses a duration: a number and its unit, such as `500ms`, `30s`, `2m` or `1.5h`. A bare number is refused, because
 * some tools mean seconds and others milliseconds; only 0 needs no unit.
 *
 * @param name the name of the option, for the error
 * @returns whole milliseconds
 * @throws {UsageError} naming the option and the text
 */
export function parseDuration(name: string, text: string): number {
  const isQuantity = text === "0" || /^\d+(\.\d+)? ?[a-z]+$/i.test(text);
  const value = isQuantity ? ms(text as ms.StringValue) : undefined;
  if (value === undefined || Number.isNaN(value)) {
    throw new UsageError(`${name} must be a duration such as 500ms, 30s or 2m, not ${JSON.stringify(text)}`);
  }
  if (value > timerMaxMs) throw new UsageError(`${name} must be at most ${ms(timerMaxMs)}, not ${text}`);
  return Math.round(value);
}

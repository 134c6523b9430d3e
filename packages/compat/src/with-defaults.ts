import { assertOptions, checkType } from "@holdfast/core/node";

/** How {@link withDefaults} checks options. */
interface OptionRules {
  /** What the options are for, in errors. */
  readonly of: string;
  /** The least number of an option. Default 0. */
  readonly leasts: Readonly<Record<string, number>>;
  /** Options without a default, which are not checked. */
  readonly others?: readonly string[];
}

/**
 * Checks options, and fills in the defaults, whose types they must have.
 *
 * @throws {TypeError | RangeError} for an unknown option, one of another type, or a number that is too small
 */
export function withDefaults<Options extends object>(
  given: Partial<Options>,
  defaults: Options,
  { of, leasts, others = [] }: OptionRules,
): Options {
  assertOptions(given, [...Object.keys(defaults), ...others], of);
  const defined = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of defined) {
    if (others.includes(name)) continue;
    const type = typeof defaults[name as keyof Options];
    checkType(name, type, value);
    const least = leasts[name] ?? 0;
    if (type === "number" && !((value as number) >= least)) throw new RangeError(`${name} must be at least ${least}`);
  }
  return { ...defaults, ...Object.fromEntries(defined) };
}

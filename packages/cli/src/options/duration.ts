import ms from "ms";
import { UsageError } from "../exit-codes.ts";

/** The longest delay of a Node timer: about 24 days. */
const maxMs = 2 ** 31 - 1;

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
  if (value > maxMs) throw new UsageError(`${name} must be at most ${ms(maxMs)}, not ${text}`);
  return Math.round(value);
}

import { assertOptions, checkInteger, checkType, timerMaxMs } from "@holdfast/core/node";
import type { WellFormed } from "../keys.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The timeout of a fenced store, and how long it remembers tokens. */
export interface FencedStoreOptions {
  /**
   * How long a call waits for the server's reply, in milliseconds. Default: 1000. A command that is not sent by then is
   * never sent; one that is may still take effect.
   */
  readonly timeoutMs?: number;
  /**
   * How long a token outlives its value, in milliseconds: a positive integer, or `Infinity` to keep it forever. Default:
   * 86 400 000, a day. The token of a key without a value is kept for so long after its last use, and that of a value with
   * a ttl for so long after the value expires; a value without a ttl keeps its token. Choose more than the longest time for
   * which a client can be suspended and then still write with its old token, and the same for all clients.
   */
  readonly fenceTtlMs?: number;
}

/** How a single value is stored. */
export interface FencedWriteOptions {
  /** How long the value is kept, in milliseconds: a positive integer. Its token outlives it. Default: until it is deleted. */
  readonly ttlMs?: number | undefined;
}

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {TypeError | RangeError} naming the option and what it must be
 */
export function parseStoreOptions(options: FencedStoreOptions): Required<FencedStoreOptions> {
  assertOptions(options, ["timeoutMs", "fenceTtlMs"], "a fenced store");
  const { timeoutMs = 1_000, fenceTtlMs = dayMs } = options;
  checkType("timeoutMs", "number", timeoutMs);
  if (!(timeoutMs > 0 && timeoutMs <= timerMaxMs)) {
    throw new RangeError(`timeoutMs must be above 0, and at most ${timerMaxMs} (milliseconds), not ${timeoutMs}`);
  }
  checkType("fenceTtlMs", "number", fenceTtlMs);
  if (fenceTtlMs !== Infinity && !(Number.isSafeInteger(fenceTtlMs) && fenceTtlMs > 0)) {
    throw new RangeError(`fenceTtlMs must be a positive integer (milliseconds) or Infinity, not ${fenceTtlMs}`);
  }
  return { timeoutMs, fenceTtlMs };
}

/** Throws unless `key` is a string that a server stores unchanged. */
export function assertKey(key: unknown): void {
  checkType("key", "string", key);
  if (key === "") throw new RangeError("key must not be empty");
  assertWellFormed("key", key as string);
}

/**
 * Returns the value as it is sent, and its ttl in milliseconds, where 0 means forever. Bytes are copied, because they may
 * be sent after the caller has changed its array.
 *
 * @throws {TypeError | RangeError} naming what is wrong
 */
export function parseWrite(value: unknown, options: FencedWriteOptions): [value: string | Buffer, ttlMs: number] {
  assertOptions(options, ["ttlMs"], "a write");
  const { ttlMs = 0 } = options;
  if (options.ttlMs !== undefined) checkInteger("ttlMs", ttlMs);
  if (value instanceof Uint8Array) return [Buffer.from(value), ttlMs];
  if (typeof value !== "string") {
    throw new TypeError(`value must be a string, a Buffer or a Uint8Array, not ${typeof value}`);
  }
  assertWellFormed("value", value);
  return [value, ttlMs];
}

/** Half of a surrogate pair has no UTF-8 encoding: the server would store another text. */
function assertWellFormed(name: string, text: string): void {
  if (!(text as WellFormed).isWellFormed()) throw new RangeError(`${name} must be well-formed Unicode`);
}

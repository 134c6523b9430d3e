import { timerMsMax } from "../deadline.ts";
import { dayMs, insistOnFenceTtl, insistOnObject } from "../options.ts";

/** How a fenced store waits, and how long it remembers. */
export interface FencedStoreOptions {
  /**
   * How long to wait for an answer, in milliseconds. Default: 1000. What was not sent by then is not sent any more; what
   * was, may take effect.
   */
  readonly timeoutMs?: number;
  /**
   * How long the newest token of a key without a value is remembered after the last use, and that of a value with a ttl
   * after the end of the value, in milliseconds: a positive integer, or `Infinity` to remember it for ever. Default:
   * 86 400 000, a day. Choose it longer than a client may be suspended and then still write with its old token, and the
   * same for all clients. A value without a ttl keeps its token as long as it is there.
   */
  readonly fenceTtlMs?: number;
}

/** How one value is kept. */
export interface FencedWriteOptions {
  /** How long the value is kept, in milliseconds: a positive integer. Its token outlives it. Default: until it is deleted. */
  readonly ttlMs?: number | undefined;
}

/** The same, complete. */
export interface FencedSettings {
  readonly timeoutMs: number;
  readonly fenceTtlMs: number;
}

/**
 * Checks the options and fills in what is missing.
 *
 * @throws {TypeError | RangeError} naming the option and what is wanted
 */
export function parseStoreOptions(options: FencedStoreOptions): FencedSettings {
  insistOnObject(options);
  const { timeoutMs = 1_000, fenceTtlMs = dayMs } = options;
  if (typeof timeoutMs !== "number") throw new TypeError(`timeoutMs must be a number, not ${typeof timeoutMs}`);
  if (!(timeoutMs > 0 && timeoutMs <= timerMsMax)) {
    throw new RangeError(`timeoutMs must be above 0, and at most ${timerMsMax} (milliseconds): ${timeoutMs}`);
  }
  insistOnFenceTtl(fenceTtlMs);
  return { timeoutMs, fenceTtlMs };
}

/** Throws unless it is a key that every server keeps as it is. */
export function insistOnKey(key: unknown): void {
  if (typeof key !== "string") throw new TypeError(`key must be a string, not ${typeof key}`);
  if (key === "") throw new RangeError("key must not be empty");
  insistOnUnicode("key", key);
}

/** Throws unless it is the token of a lock. */
export function insistOnFence(fence: unknown): void {
  if (typeof fence !== "number") throw new TypeError(`fence must be a number, not ${typeof fence}`);
  if (!(Number.isSafeInteger(fence) && fence > 0)) throw new RangeError(`fence must be a positive integer: ${fence}`);
}

/**
 * What is sent for a value, and how long it is to be kept: 0 for ever. Bytes are copied, as they may be sent later.
 *
 * @throws {TypeError | RangeError} naming what is wrong
 */
export function parseWrite(value: unknown, options: FencedWriteOptions): [value: string | Buffer, ttlMs: number] {
  insistOnObject(options);
  const { ttlMs } = options;
  if (ttlMs !== undefined && typeof ttlMs !== "number") {
    throw new TypeError(`ttlMs must be a number, not ${typeof ttlMs}`);
  }
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0)) {
    throw new RangeError(`ttlMs must be a positive integer (milliseconds): ${ttlMs}`);
  }
  return [bytesOf(value), ttlMs ?? 0];
}

function bytesOf(value: unknown): string | Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (typeof value !== "string") {
    throw new TypeError(`value must be a string, a Buffer or a Uint8Array, not ${typeof value}`);
  }
  insistOnUnicode("value", value);
  return value;
}

/** Half a surrogate pair has no UTF-8: something else would be kept. */
function insistOnUnicode(name: string, text: string): void {
  if (/\p{Surrogate}/u.test(text)) throw new RangeError(`${name} must be well-formed Unicode`);
}

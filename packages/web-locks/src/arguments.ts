/**
 * The arguments of `request()`, converted and checked in the order of the specification: first as Web IDL converts
 * them, from left to right and the options in the order of their names, then by the steps of the method.
 */
import type { GrantedLock, LockMode } from "./types.ts";

/** A checked request. */
export interface Call {
  readonly name: string;
  readonly mode: LockMode;
  readonly ifAvailable: boolean;
  readonly signal: AbortSignal | undefined;
  readonly steal: boolean;
  readonly callback: (lock: GrantedLock | null) => unknown;
}

/**
 * Reads the arguments of `request()`.
 *
 * @throws {TypeError} for an argument that Web IDL cannot convert
 * @throws {DOMException} `NotSupportedError` for a reserved name and for options that exclude each other
 * @throws the reason of the signal if it has aborted
 */
export function readCall(args: readonly unknown[]): Call {
  if (args.length < 2) throw new TypeError(`request() needs a name and a callback, but got ${args.length} arguments`);
  const name = `${args[0] as string}`; // throws for a symbol
  const options = args.length > 2 ? readOptions(args[1]) : readOptions(undefined);
  const callback = args[args.length > 2 ? 2 : 1];
  if (typeof callback !== "function") throw new TypeError("the callback of request() must be a function");
  const call = { name, ...options, callback: callback as Call["callback"] };
  assertSupported(call);
  call.signal?.throwIfAborted();
  return call;
}

function readOptions(value: unknown): Pick<Call, "ifAvailable" | "mode" | "signal" | "steal"> {
  const isDictionary = value == null || typeof value === "object" || typeof value === "function";
  if (!isDictionary) throw new TypeError("the options of request() must be an object");
  const given = (value ?? {}) as Record<string, unknown>;
  const ifAvailable = Boolean(given.ifAvailable);
  const mode = readMode(given.mode);
  const { signal } = given;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError("the signal of request() must be an AbortSignal");
  }
  return { ifAvailable, mode, signal, steal: Boolean(given.steal) };
}

function readMode(value: unknown): LockMode {
  if (value === undefined) return "exclusive";
  const mode = `${value as string}`;
  if (mode === "exclusive" || mode === "shared") return mode;
  throw new TypeError("the mode of request() must be exclusive or shared");
}

function assertSupported({ name, mode, ifAvailable, signal, steal }: Call): void {
  if (name.startsWith("-")) throw notSupported('names that begin with "-" are reserved');
  if (steal && ifAvailable) throw notSupported("steal and ifAvailable exclude each other");
  if (steal && mode !== "exclusive") throw notSupported("only an exclusive lock can be stolen");
  if (signal !== undefined && (steal || ifAvailable)) {
    throw notSupported("signal ends a wait, and a request with steal or ifAvailable does not wait");
  }
}

function notSupported(message: string): DOMException {
  return new DOMException(message, "NotSupportedError");
}

/*
 * Argument checks that all packages share. A wrong argument may carry a secret, such as a URL with a password or a
 * client whose options hold one. Messages therefore show the type of a value, and never the value itself unless it is a
 * number.
 */

/** Describes a value for an error message: numbers verbatim, everything else by type. Never throws. */
export function describeValue(value: unknown): string {
  if (value === null || ["number", "boolean", "undefined"].includes(typeof value)) return String(value);
  if (typeof value === "string") return value === "" ? "an empty string" : "a string";
  if (typeof value !== "object") return `a ${typeof value}`;
  if (Array.isArray(value)) return "an array";
  try {
    const { name } = Object.getPrototypeOf(value).constructor;
    return name === "Object" ? "an object" : /^[AEIOU]/.test(name) ? `an ${name}` : `a ${name}`;
  } catch {
    return "an object";
  }
}

/** Like {@link describeValue}, but also describes the fields of an object, such as a node's reply. */
export function describeFields(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return describeValue(value);
  try {
    const fields = Object.entries(value).map(([name, field]) => `${name}: ${describeValue(field)}`);
    return `{ ${fields.join(", ")} }`.slice(0, 200);
  } catch {
    return "an unreadable object";
  }
}

/**
 * Creates the error for a bad argument.
 *
 * @param name the argument's name
 * @param wanted what the argument must be
 * @param value the value that was passed
 * @param type `TypeError` for a value of the wrong type
 */
export function wrong(name: string, wanted: string, value: unknown, type: ErrorConstructor = RangeError): Error {
  return new type(`${name} must be ${wanted}, not ${describeValue(value)}`);
}

/**
 * Throws unless the value has this type.
 *
 * @param name the argument's name, for the message
 * @param type what `typeof` returns for it
 * @param value the value that was passed
 * @throws {TypeError} naming the argument, and both types
 *
 * @example
 * ```ts
 * import { checkType } from "@holdfast/core/node";
 *
 * checkType("prefix", "string", "app:");
 * ```
 */
export function checkType(name: string, type: string, value: unknown): void {
  if (typeof value !== type) throw wrong(name, `a ${type}`, value, TypeError);
}

/**
 * Throws unless the value has all of these methods.
 *
 * @param name the argument's name, for the message
 * @param methods the names of the methods
 * @param value the value that was passed
 * @throws {TypeError} naming the argument and the missing method
 *
 * @example
 * ```ts
 * import { checkMethods } from "@holdfast/core/node";
 *
 * checkMethods("client", ["get", "set"], new Map());
 * ```
 */
export function checkMethods(name: string, methods: readonly string[], value: unknown): void {
  for (const method of methods) {
    const isThere = typeof (Object(value) as Record<string, unknown>)[method] === "function";
    if (!isThere) throw wrong(name, `an object with the method ${method}`, value, TypeError);
  }
}

/**
 * Throws unless the value is a positive safe integer.
 *
 * @param name the argument's name, for the message
 * @param value the value that was passed
 * @throws {TypeError | RangeError} naming the argument and what it must be
 *
 * @example
 * ```ts
 * import { checkInteger } from "@holdfast/core/node";
 *
 * checkInteger("timeoutMs", 250);
 * ```
 */
export function checkInteger(name: string, value: unknown): void {
  checkType(name, "number", value);
  if (!Number.isSafeInteger(value) || (value as number) <= 0) throw wrong(name, "a positive integer", value);
}

/**
 * Throws unless `options` is a plain object without unknown options. The error suggests similar names.
 *
 * @param options the options as the caller passed them
 * @param names the names of all options
 * @param owner what the options belong to, for the message
 * @throws {TypeError} naming the unknown option, or the type that was passed instead of an object
 *
 * @example
 * ```ts
 * import { assertOptions } from "@holdfast/core/node";
 *
 * function myNode(options: { prefix?: string } = {}) {
 *   assertOptions(options, ["prefix"], "myNode");
 * }
 * myNode({ prefix: "app:" });
 * ```
 */
export function assertOptions(options: unknown, names: readonly string[], owner: string): asserts options is object {
  if (!isOrdinaryObject(options)) {
    const advice = typeof options === "number" && names.includes("ttlMs") ? `: pass { ttlMs: ${options} }` : "";
    throw new TypeError(`the options of ${owner} must be an object, not ${describeValue(options)}${advice}`);
  }
  for (const name of Object.keys(options)) {
    if (names.includes(name) || (options as Record<string, unknown>)[name] === undefined) continue;
    // A property that does not look like a name may be a misplaced secret.
    const given = /^\w{1,40}$/.test(name) ? name : "a property";
    const similar = similarTo(name, names);
    const advice = similar.length > 0 ? `did you mean ${similar.join(" or ")}?` : `its options are ${names.join(", ")}`;
    throw new TypeError(`${given} is not an option of ${owner}: ${advice}`);
  }
}

/** Whether a value is an object other than an array, Map, URL or the like. */
export function isOrdinaryObject(value: unknown): value is object {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** Returns the names that contain this one or are contained in it, or else those that begin alike. */
function similarTo(given: string, names: readonly string[]): readonly string[] {
  const name = given.toLowerCase();
  if (name.length < 3) return [];
  const related = names.filter((other) => other.toLowerCase().includes(name) || name.includes(other.toLowerCase()));
  return related.length > 0 ? related : names.filter((other) => other.toLowerCase().startsWith(name.slice(0, 3)));
}

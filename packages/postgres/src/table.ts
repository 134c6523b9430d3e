import { createHash } from "node:crypto";
import { assertOptions, checkType } from "@holdfast/core/node";

/** Where the claims are stored. */
export interface TableOptions {
  /** The schema of the table. Default `public`. */
  readonly schema?: string | undefined;
  /** The name of the table. Default `holdfast_locks`. */
  readonly table?: string | undefined;
}

/** The names of the options of {@link TableOptions}. */
export const tableOptions: readonly string[] = ["schema", "table"];

/** PostgreSQL truncates longer identifiers. */
const identifierBytesMax = 63;

/**
 * Returns the statement that creates the table, if it does not exist. Run it once, as a migration, in any schema that
 * exists. The users that lock need `SELECT`, `INSERT` and `UPDATE` on the table, and `DELETE` for `deleteUnused`.
 *
 * @param options the names of the schema and of the table
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * import { createTable } from "@holdfast/postgres";
 *
 * console.log(createTable({ schema: "app", table: "locks" })); // CREATE TABLE IF NOT EXISTS "app"."locks" (…
 * ```
 */
export function createTable(options: TableOptions = {}): string {
  assertOptions(options, tableOptions, "createTable");
  // A row is updated in place: free space in its page keeps the index and the table small.
  return `CREATE TABLE IF NOT EXISTS ${qualifiedName(options)} (
  name text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C",
  until timestamptz NOT NULL,
  fence bigint NOT NULL CHECK (fence BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}),
  waiters text[] COLLATE "C",
  waiting_until timestamptz,
  watched_until timestamptz,
  sharers jsonb,
  sharers_denied_until timestamptz
) WITH (fillfactor = 70)`;
}

/** Returns the quoted name of the table. */
export function qualifiedName({ schema = "public", table = "holdfast_locks" }: TableOptions): string {
  return `${quoted("schema", schema)}.${quoted("table", table)}`;
}

/** Quotes an identifier. */
export function quoted(option: string, identifier: string): string {
  checkType(option, "string", identifier);
  const bytes = Buffer.byteLength(identifier);
  if (bytes === 0 || bytes > identifierBytesMax || identifier.includes("\0")) {
    throw new RangeError(`${option} must have 1 to ${identifierBytesMax} bytes, not ${bytes}, and no NUL`);
  }
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** An index entry has at most about 2,700 bytes. */
const storedNameMax = 1_000;

/**
 * Spells a resource as it is stored: in ASCII, which every database encoding has, with the escapes of JSON. A long name
 * ends with a tab and its digest instead of its last characters. No other stored name has a tab, as JSON escapes it.
 */
export function storedName(resource: string): string {
  const name = asciiOf(resource);
  if (name.length <= storedNameMax) return name;
  return `${name.slice(0, storedNameMax - 65)}\t${digestOf(name)}`;
}

/** Returns the resource that is stored under a name; undefined if the name ends with a digest. */
export function resourceOf(name: string): string | undefined {
  if (name.includes("\t")) return undefined;
  return textOf(name);
}

/** Returns the beginning of the resource that is stored under a name that ends with a digest. */
export function beginningOf(name: string): string {
  const [escaped = ""] = /^(?:[^\\\t]|\\[^u]|\\u[\da-f]{4})*/.exec(name) ?? []; // the last escape may be cut
  return textOf(escaped);
}

/** Spells any string in ASCII, with the escapes of JSON. */
export function asciiOf(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1);
  return escaped.replace(/[^\0-~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Returns the string that {@link asciiOf} spelled like this. */
export function textOf(ascii: string): string {
  return JSON.parse(`"${ascii}"`);
}

/** Returns the SHA-256 digest in hexadecimal, as `encode(sha256(…), 'hex')` does. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Writes strings as an array of PostgreSQL, which every client passes on as text. */
export function arrayOf(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/[\\"]/g, "\\$&")}"`).join(",")}}`;
}

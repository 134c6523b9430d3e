import { createHash } from "node:crypto";
import { assertOptions, checkType } from "@holdfast/core/node";

/** Where the claims are stored. */
export interface TableOptions {
  /** The database of the table. Default: that of the connection. */
  readonly database?: string | undefined;
  /** The name of the table. Default `holdfast_locks`. */
  readonly table?: string | undefined;
}

/** The names of the options of {@link TableOptions}. */
export const tableOptions: readonly string[] = ["database", "table"];

/** MySQL refuses longer identifiers. */
const identifierLengthMax = 64;

/**
 * Returns the statement that creates the table, if it does not exist. Run it once, as a migration. The users that lock need
 * `SELECT`, `INSERT` and `UPDATE` on the table, and `DELETE` for `deleteUnused`.
 *
 * @param options the names of the database and of the table
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * import { createTable } from "@holdfast/mysql";
 *
 * console.log(createTable({ table: "locks" })); // CREATE TABLE IF NOT EXISTS `locks` (…
 * ```
 */
export function createTable(options: TableOptions = {}): string {
  assertOptions(options, tableOptions, "createTable");
  return `CREATE TABLE IF NOT EXISTS ${qualifiedName(options)} (
  name VARBINARY(${storedNameMax + 1}) NOT NULL PRIMARY KEY,
  owner LONGBLOB,
  until BIGINT NOT NULL,
  fence BIGINT NOT NULL CHECK (fence BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}),
  sharers LONGBLOB,
  favours_until BIGINT,
  released_at BIGINT NOT NULL DEFAULT 0,
  version BIGINT NOT NULL DEFAULT 0,
  epoch BIGINT
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`;
}

/** Returns the quoted name of the table. */
export function qualifiedName({ database, table = "holdfast_locks" }: TableOptions): string {
  const name = nameOf("table", table);
  return database === undefined ? name : `${nameOf("database", database)}.${name}`;
}

/** Quotes an identifier. */
export function nameOf(option: string, identifier: string): string {
  checkType(option, "string", identifier);
  const isRefused = identifier === "" || /[\0\ud800-\udfff]| $/.test(identifier);
  if (isRefused || identifier.length > identifierLengthMax) {
    const rule = `1 to ${identifierLengthMax} characters up to U+FFFF, no NUL, and no space at the end`;
    throw new RangeError(`${option} must have ${rule}, not ${JSON.stringify(identifier)}`);
  }
  return `\`${identifier.replaceAll("`", "``")}\``;
}

/** The longest names that are stored whole. An index entry has at most 3,072 bytes. */
export const storedNameMax = 1_000;

/**
 * Spells a resource as it is stored: in UTF-8 with the escapes of JSON, which keep lone surrogates apart. A long name ends
 * with a tab and its digest instead of its last bytes. No other stored name has a tab, as JSON escapes it.
 */
export function storedName(resource: string): Buffer {
  const name = bytesOf(resource);
  if (name.length <= storedNameMax) return name;
  return Buffer.concat([name.subarray(0, storedNameMax - 65), Buffer.from(`\t${digestOf(name)}`)]);
}

/** Returns the resource that is stored under a name; undefined if the name ends with a digest. */
export function resourceOf(name: Buffer): string | undefined {
  return name.includes("\t") ? undefined : textOf(name);
}

/** Returns the beginning of the resource that is stored under a name that ends with a digest. */
export function beginningOf(name: Buffer): string {
  // The last character, or the last escape, may be cut.
  const text = new TextDecoder().decode(name.subarray(0, name.indexOf("\t")), { stream: true });
  const [whole = ""] = /^(?:[^\\]|\\[^u]|\\u[\da-f]{4})*/.exec(text) ?? [];
  return JSON.parse(`"${whole}"`);
}

/** Spells any string in UTF-8. */
export function bytesOf(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}

/** Returns the string that {@link bytesOf} spelled like this. */
export function textOf(bytes: Buffer): string {
  return JSON.parse(`"${bytes}"`);
}

/** Returns the SHA-256 digest in hexadecimal. */
export function digestOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Writes a text so that it means the same in all sessions. */
export function textLiteral(text: string): string {
  return `CONVERT(X'${Buffer.from(text).toString("hex")}' USING utf8mb4)`;
}

import type { Lock } from "@holdfast/core";
import { assertOptions } from "@holdfast/core/node";
import { registryNames } from "./guard.ts";
import { textLiteral } from "./table.ts";
import { firstValues, runnerOf, type Transaction } from "./transaction.ts";

/** The options of {@link registerRead}. */
export interface RegisterReadOptions {
  /** How the lock was acquired. A `shared` one lets others read under older tokens. */
  readonly mode?: "exclusive" | "shared" | undefined;
  /** The `database` that {@link createGuard} was given. Default: that of the connection. */
  readonly database?: string | undefined;
}

/** A lock, or locks of the same token. */
type Fenced = Pick<Lock, "resources" | "fence">;

/**
 * States the fencing token of a lock while work runs in a transaction, for tables that are guarded by `createGuard`, and takes
 * it back afterwards: a session variable, which would outlive the transaction, has it. The work neither commits nor rolls back,
 * other than to savepoints. A transaction under several locks nests the calls; where they run side by side, the writes of all but
 * the first to end may be refused. Needs nothing in the database, so that it can be
 * introduced before the guard.
 *
 * @param transaction a transaction, as for `holds`
 * @param lock the exclusive lock, of any lock nodes
 * @param work what the transaction does under this lock
 * @returns what the work resolves with
 * @throws {TypeError} if this is not a transaction; and whatever the work throws
 *
 * @example
 * ```ts
 * import type { Lock } from "@holdfast/core";
 * import { fenced } from "@holdfast/mysql";
 * import type { PoolConnection } from "mysql2/promise";
 *
 * async function pay(connection: PoolConnection, lock: Lock): Promise<void> {
 *   await connection.beginTransaction();
 *   await fenced(connection, lock, async () => {
 *     await connection.query("UPDATE invoices SET paid = true WHERE id = 42"); // refused if a newer holder has written
 *   });
 *   await connection.commit();
 * }
 * ```
 */
export async function fenced<T>(transaction: Transaction, lock: Fenced, work: () => PromiseLike<T>): Promise<T> {
  const send = await runnerOf(transaction);
  const [outer = "null"] = firstValues(await send("SELECT HEX(CONVERT(@holdfast_fence USING utf8mb4))"));
  const stated = outer === "null" ? undefined : Buffer.from(outer, "hex");
  const own = Object.fromEntries(lock.resources.map((resource) => [resource, lock.fence]));
  const state = async (literal: string) => send(`SET @holdfast_fence = ${literal}`);
  const here = textLiteral(jsonOf({ ...objectOf(stated), ...own }));
  const before = stated === undefined ? "NULL" : textLiteral(String(stated));
  // What a call that runs beside this one has stated would otherwise stay.
  const restore = () => state(`IF(CAST(@holdfast_fence AS BINARY) <=> CAST(${here} AS BINARY), ${before}, NULL)`);
  await state(here);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await restore().catch(() => {}); // the connection is lost, and the variable with it
    throw error;
  }
  await restore();
  return result;
}

/** Writes JSON with the escapes of MariaDB, which finds no key that is spelled in another way. */
function jsonOf(value: object): string {
  return JSON.stringify(value).replaceAll(/\\(u[\da-f]{4}|.)/g, (text) =>
    text.startsWith("\\u") ? `\\u${text.slice(2).toUpperCase()}` : text,
  );
}

/** Returns the tokens that are stated; none if they are malformed. */
function objectOf(stated: Buffer | undefined): object {
  try {
    return JSON.parse(String(stated));
  } catch {
    return {};
  }
}

/**
 * Registers the token of a lock before anything is read: from the commit on, every older holder is refused. Without it, an
 * older holder may still write between what this transaction reads and what a later one writes. Call it first in the
 * transaction: those of older and newer holders then wait in turn, and the snapshot of the transaction is taken afterwards;
 * that of a reader may be older. To write, the transaction needs {@link fenced}, too.
 *
 * Rejects if a newer holder has registered (SQLSTATE `LF409`), or if the snapshot of the transaction is older than the last
 * write under the lock (`40001`, or error 1020), unless the transaction has written under the lock itself: roll back. A new name
 * can cause a deadlock (error 1213).
 *
 * @param transaction a transaction, as for `holds`
 * @param lock the lock, of any lock nodes
 * @param options see {@link RegisterReadOptions}
 * @throws {TypeError | RangeError} if this is not a transaction, or an option is bad
 *
 * @example
 * ```ts
 * import type { Lock } from "@holdfast/core";
 * import { fenced, registerRead } from "@holdfast/mysql";
 * import type { PoolConnection, RowDataPacket } from "mysql2/promise";
 *
 * async function addTo(connection: PoolConnection, lock: Lock, amount: number): Promise<void> {
 *   await connection.beginTransaction();
 *   await registerRead(connection, lock);
 *   const [rows] = await connection.query<RowDataPacket[]>("SELECT balance FROM accounts WHERE id = 7");
 *   const change = () => connection.query("UPDATE accounts SET balance = ? WHERE id = 7", [rows[0]?.balance + amount]);
 *   await fenced(connection, lock, change);
 *   await connection.commit();
 * }
 * ```
 */
export async function registerRead(
  transaction: Transaction,
  { resources, fence }: Fenced,
  options: RegisterReadOptions = {},
): Promise<void> {
  assertOptions(options, ["mode", "database"], "registerRead");
  const { mode = "exclusive", database } = options;
  if (mode !== "exclusive" && mode !== "shared") {
    throw new RangeError(`mode must be "exclusive" or "shared", not ${JSON.stringify(mode)}`);
  }
  const call = registryNames(database).registerRead;
  const names = [...new Set(resources)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const send = await runnerOf(transaction);
  await send(`CALL ${call}(${textLiteral(JSON.stringify(names))}, ${Number(fence)}, ${mode === "shared"})`);
}

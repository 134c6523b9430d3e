import type { Lock } from "@holdfast/core";
import { assertOptions } from "@holdfast/core/node";
import { quoted } from "./table.ts";
import { runIn, type Transaction } from "./transaction.ts";

/** The options of {@link registerRead}. */
export interface RegisterReadOptions {
  /** How the lock was acquired. A `shared` one lets others read under older tokens, and does not let the transaction write. */
  readonly mode?: "exclusive" | "shared" | undefined;
  /** The `schema` that {@link createGuard} was given. Default `public`. */
  readonly schema?: string | undefined;
}

/** A lock, or locks of the same token. */
type Fenced = Pick<Lock, "resources" | "fence">;

/** Adds tokens to those that the transaction has stated. */
const state = `set_config('holdfast.fence',
  (coalesce(nullif(current_setting('holdfast.fence', true), '')::jsonb, '{}') || $1::text::jsonb)::text, true)`;

/**
 * States the fencing token of a lock in a transaction, for tables that are guarded by `createGuard`. A transaction under
 * several locks calls it for each. Needs nothing in the database, so that it can be introduced before the guard.
 *
 * @param transaction a transaction, as for `holds`
 * @param lock the lock, of any lock nodes
 * @throws {TypeError} if this is not a transaction, as the statement would end with itself
 *
 * @example
 * ```ts
 * import type { Lock } from "@holdfast/core";
 * import { fenced } from "@holdfast/postgres";
 * import type { PoolClient } from "pg";
 *
 * async function pay(client: PoolClient, lock: Lock): Promise<void> {
 *   await client.query("BEGIN");
 *   await fenced(client, lock);
 *   await client.query("UPDATE invoices SET paid = true WHERE id = 42"); // refused if the lock has a newer holder that wrote
 *   await client.query("COMMIT");
 * }
 * ```
 */
export async function fenced(transaction: Transaction, lock: Fenced): Promise<void> {
  await runIn(transaction, { name: "", text: `SELECT ${state}` }, [fencesOf(lock)]);
}

/**
 * As `fenced`, and registers the token before anything is read: from the commit on, every older holder is refused. Without
 * it, an older holder may still write between what this transaction reads and what a later one writes. Call it first in the
 * transaction: those of older and newer holders then wait in turn, without a deadlock. Rejects if a newer holder has
 * registered; SQLSTATE `LF409`.
 *
 * @param transaction a transaction, as for `holds`
 * @param lock the lock, of any lock nodes
 * @param options see {@link RegisterReadOptions}
 * @throws {TypeError | RangeError} if this is not a transaction, or one that is `READ ONLY`, or an option is bad
 *
 * @example
 * ```ts
 * import type { Lock } from "@holdfast/core";
 * import { registerRead } from "@holdfast/postgres";
 * import type { Sql } from "postgres";
 *
 * async function addTo(sql: Sql, lock: Lock, amount: number): Promise<void> {
 *   await sql.begin(async (sql) => {
 *     await registerRead(sql, lock);
 *     const [row] = await sql`SELECT balance FROM accounts WHERE id = 7`;
 *     await sql`UPDATE accounts SET balance = ${row?.balance + amount} WHERE id = 7`;
 *   });
 * }
 * ```
 */
export async function registerRead(
  transaction: Transaction,
  lock: Fenced,
  options: RegisterReadOptions = {},
): Promise<void> {
  assertOptions(options, ["mode", "schema"], "registerRead");
  const { mode = "exclusive", schema = "public" } = options;
  if (mode !== "exclusive" && mode !== "shared") {
    throw new RangeError(`mode must be "exclusive" or "shared", not ${JSON.stringify(mode)}`);
  }
  // Prisma reads no column of the type void.
  const register = `${quoted("schema", schema)}.holdfast_register_read($1::text, ${mode === "shared"})::text`;
  const text = mode === "shared" ? `SELECT ${register}` : `SELECT ${state}, ${register}`;
  await runIn(transaction, { name: "", text }, [fencesOf(lock)]);
}

function fencesOf({ resources, fence }: Fenced): string {
  return JSON.stringify(Object.fromEntries(resources.map((resource) => [resource, fence])));
}

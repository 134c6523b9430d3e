import { codeOf, type PgResult, type PostgresJsQuery, type Value } from "./client.ts";
import type { Statement } from "./statements.ts";

/** A client of `pg` in a transaction, such as one that was checked out from a `Pool` and has run `BEGIN`. */
export interface PgTransaction {
  /** Runs a statement. */
  query(query: { text: string; values?: Value[]; rowMode: "array" }): Promise<PgResult>;
}

/** The `sql` that postgres.js passes to the function of `sql.begin`. */
export interface PostgresJsTransaction {
  /** Runs a statement. */
  unsafe(text: string, values?: Value[]): Pick<PostgresJsQuery, "values">;
}

/**
 * Runs one statement in a transaction of any other client, with `$1`, `$2` and so on for its values. Resolves with an array
 * of the rows, as arrays or objects.
 */
export type RunStatement = (text: string, values: Value[]) => PromiseLike<readonly unknown[]>;

/** A transaction of the user. */
export type Transaction = PgTransaction | PostgresJsTransaction | RunStatement;

/**
 * Runs a statement in a transaction of the user, and returns its rows.
 *
 * @throws {TypeError} if there is no transaction, as row locks would end with the statement, or if it is read-only
 */
export async function runIn(
  transaction: Transaction,
  { text }: Statement,
  values: readonly Value[],
): Promise<readonly unknown[]> {
  const { run, isInTransaction } = runnerOf(transaction);
  try {
    if (!isInTransaction) await assertInTransaction(run);
    return await run(text, [...values]);
  } catch (error) {
    if (stateOf(error) === "25006") throw refusal("one that is READ ONLY: a row is locked");
    throw error;
  }
}

/** How many rows show that two statements have run in one transaction: no wrapper around the rows has as many parts. */
const probeRows = 7;

/** Throws unless a function runs its statements in one transaction, and resolves with their rows. Changes nothing there. */
async function assertInTransaction(run: RunStatement): Promise<void> {
  const mark = crypto.randomUUID();
  await run("SELECT set_config('holdfast.transaction', $1::text, true)", [mark]); // until the end of the transaction
  const probe = `SELECT 1 FROM generate_series(1, ${probeRows}) WHERE current_setting('holdfast.transaction', true) = $1::text`;
  const rows: unknown = await run(probe, [mark]);
  if (!Array.isArray(rows) || ![0, probeRows].includes(rows.length)) {
    throw refusal("a function that resolves with anything but an array of rows");
  }
  if (rows.length === 0) throw refusal("a client without a transaction: run BEGIN first");
}

/** Returns a function that runs statements, and whether it is known to run them in a transaction. */
function runnerOf(transaction: Transaction): { readonly run: RunStatement; readonly isInTransaction: boolean } {
  const given = Object(transaction) as Partial<PgTransaction & PostgresJsTransaction & Probes>;
  const { unsafe } = given;
  if (given.totalCount !== undefined) throw refusal("a Pool, whose statements commit one by one");
  if (typeof unsafe === "function") {
    const run: RunStatement = async (text, values) => (await unsafe(text, values).values()) as unknown[];
    return { run, isInTransaction: given.savepoint !== undefined };
  }
  if (typeof transaction === "function") return { run: transaction, isInTransaction: false };
  if (typeof given.query !== "function") throw refusal("something else");
  const status = given.getTransactionStatus?.();
  if (status === "I") throw refusal("a client without a transaction: run BEGIN first");
  const run: RunStatement = async (text, values) =>
    (await (transaction as PgTransaction).query({ text, values, rowMode: "array" })).rows;
  return { run, isInTransaction: status === "T" };
}

/** Parts of a client that tell whether it is in a transaction. */
interface Probes {
  /** Of a `Pool` of `pg`. */
  readonly totalCount: number;
  /** Of a `Client` of `pg` 8.16 and later: `I` outside of transactions. */
  getTransactionStatus(): string | null;
  /** Of a transaction of postgres.js. */
  savepoint(): unknown;
}

/** Returns the SQLSTATE of an error, which many libraries wrap in one of their own; empty if there is none. */
export function stateOf(error: unknown): string {
  const { cause, meta } = Object(error) as { readonly cause?: unknown; readonly meta?: unknown };
  const states = [error, cause, meta].map(codeOf);
  return states.find((state) => /^[\dA-Z]{5}$/.test(state)) ?? "";
}

function refusal(given: string): TypeError {
  const wanted = "a client in a transaction, or a function (text, values) that runs a statement in one";
  return new TypeError(`the transaction must be ${wanted}, not ${given}`);
}

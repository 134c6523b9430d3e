import type { PgResult, PostgresJsQuery, Row, Value } from "./client.ts";
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

/** A transaction of the user. */
export type Transaction = PgTransaction | PostgresJsTransaction;

/**
 * Runs a statement in a transaction of the user.
 *
 * @throws {TypeError} if there is no transaction: row locks would end with the statement
 */
export async function runIn(
  transaction: Transaction,
  { text }: Statement,
  values: readonly Value[],
): Promise<readonly Row[]> {
  const given = Object(transaction) as Partial<PgTransaction & PostgresJsTransaction & Probes>;
  if (given.totalCount !== undefined) throw notInTransaction("a Pool, whose statements commit one by one");
  if (typeof given.unsafe === "function") {
    const { unsafe } = given;
    if (given.savepoint === undefined) await assertInTransaction(() => unsafe(probe).values());
    return (await unsafe(text, [...values]).values()) as Row[];
  }
  if (typeof given.query !== "function") throw notInTransaction("something else");
  const status = given.getTransactionStatus?.();
  if (status === "I") throw notInTransaction("a client without a transaction: run BEGIN first");
  if (status === undefined)
    await assertInTransaction(() => (transaction as PgTransaction).query({ text: probe, rowMode: "array" }));
  const { rows } = await (transaction as PgTransaction).query({ text, values: [...values], rowMode: "array" });
  return rows as Row[];
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

/** Fails outside of a transaction, and changes nothing in it. */
const probe = "SAVEPOINT holdfast; RELEASE SAVEPOINT holdfast";

async function assertInTransaction(run: () => PromiseLike<unknown>): Promise<void> {
  try {
    await run();
  } catch (cause) {
    const { code } = Object(cause);
    throw code === "25P01" ? notInTransaction("a client without a transaction: run BEGIN first") : cause;
  }
}

function notInTransaction(given: string): TypeError {
  return new TypeError(`the transaction must be a client in a transaction, not ${given}`);
}

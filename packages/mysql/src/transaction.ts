import {
  isInTransaction,
  isOfStatement,
  type MysqlCallbackClient,
  type MysqlConnection,
  numberOf,
  promised,
  run,
} from "./client.ts";
import { endOf, type Share } from "./rules.ts";
import type { Statements } from "./statements.ts";
import { textOf } from "./table.ts";

/**
 * Runs one statement in a transaction of any other client. Resolves with an array of the rows, as arrays or objects.
 */
export type RunStatement = (text: string) => PromiseLike<readonly unknown[]>;

/** A transaction of the user: a connection of `mysql2` after `START TRANSACTION`, or a function. */
export type Transaction = MysqlConnection | MysqlCallbackClient<MysqlConnection> | RunStatement;

/** Transaction characteristics cannot be changed while there is a transaction. */
const isOpen = 1568;

/**
 * Returns whether the owner holds the lock with this fence, and keeps others from it until the end of the transaction.
 *
 * @throws {TypeError} if there is no transaction, as row locks would end with the statement
 */
export async function holdsIn(
  transaction: Transaction,
  { guard, held }: Statements,
  names: readonly Buffer[],
  { owner, fence }: { readonly owner: string; readonly fence: number },
): Promise<boolean> {
  const send = await runnerOf(transaction);
  const counters = firstValues(await send(guard(names))).map(Number);
  // Nobody has another counter now. A higher one is of sharers who came later, or of another owner: the snapshot of the
  // transaction may not show which.
  if (counters.length < names.length || counters.some((counter) => counter < fence)) return false;
  const rows = firstValues(await send(held(names, Math.max(...counters) > fence)));
  return rows.length === names.length && rows.every((row) => isHeld(row, owner, fence));
}

function isHeld(row: string, ofOwner: string, ofFence: number): boolean {
  const [ownerHex = "", until, fence, sharersHex = "", now] = row.split(",");
  const sharers: Record<string, Share> | null = sharersHex ? JSON.parse(String(Buffer.from(sharersHex, "hex"))) : null;
  const owner = textOf(Buffer.from(ownerHex, "hex"));
  const entry = {
    resource: "",
    owner,
    untilUs: Number(until),
    fence: Number(fence),
    sharers,
    favoursUntilUs: 0,
    version: 0,
  };
  if (endOf(entry, ofOwner, Number(now)) === undefined) return false;
  return sharers === null ? entry.fence === ofFence : (sharers[ofOwner] as Share)[1] <= ofFence;
}

/**
 * Returns a function that runs a statement in a transaction.
 *
 * @throws {TypeError} if there is no transaction
 */
export async function runnerOf(transaction: Transaction): Promise<(text: string) => PromiseLike<unknown>> {
  if (typeof transaction === "function") {
    await assertInTransaction(transaction);
    return transaction;
  }
  const given = promised(transaction);
  if (typeof given.getConnection === "function") throw refusal("a pool, whose statements commit one by one");
  if (typeof given.query !== "function") throw refusal("something else");
  const connection = given as MysqlConnection;
  if (!(await isInTransaction(connection))) throw refusal(withoutTransaction);
  return async (text) => {
    try {
      return await run(connection, text);
    } catch (error) {
      if (!isOfStatement(error)) connection.destroy?.();
      throw error;
    }
  };
}

/** Throws unless a function runs its statements in a transaction. Changes nothing there. */
async function assertInTransaction(send: RunStatement): Promise<void> {
  try {
    await send("SET TRANSACTION READ WRITE");
  } catch (error) {
    if (numberOf(error) === isOpen) return;
    throw error;
  }
  throw refusal(withoutTransaction);
}

/** Returns the first value of each row of a result. */
export function firstValues(rows: unknown): string[] {
  if (!Array.isArray(rows)) throw refusal("a function that resolves with anything but an array of rows");
  return rows.map((row) => {
    const [value] = Object.values(Object(row));
    return String(value instanceof Uint8Array ? Buffer.from(value) : value);
  });
}

const withoutTransaction = "a client without a transaction: run START TRANSACTION first";

function refusal(given: string): TypeError {
  const wanted = "a connection in a transaction, or a function (text) that runs a statement in one";
  return new TypeError(`the transaction must be ${wanted}, not ${given}`);
}

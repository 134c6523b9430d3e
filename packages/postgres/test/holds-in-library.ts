import { type Lock, Redlock } from "@holdfast/core";
import { createGuard, fenced, postgresNode, registerRead, type Transaction } from "@holdfast/postgres";
import pg from "pg";
import { expect } from "vitest";
import { runIn } from "../src/transaction.ts";
import { freshTable } from "./servers.ts";

/** A function of the package that runs in a transaction of the user. */
type Call<Result> = (transaction: Transaction, lock: Lock) => Promise<Result>;

/** A library: calls a function in a transaction, and with what runs statements outside of one. Both as the README shows. */
export interface Library {
  inTransaction<Result>(call: Call<Result>, lock: Lock): Promise<Result>;
  outside<Result>(call: Call<Result>, lock: Lock): Promise<Result>;
  end(): Promise<unknown>;
}

/** Opens a pool. Its last connections may still be closing when the server stops. */
export function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2 });
  pool.on("error", () => {});
  return pool;
}

const noTransaction = "not a client without a transaction: run BEGIN first";

/**
 * Judges whether `holds` keeps a lock in a transaction of the library, whether a guarded table knows the token that `fenced`
 * and `registerRead` have stated in one, and whether all are refused outside of one. Ends the library.
 */
export async function expectHolds(library: Library, connectionString: string): Promise<void> {
  const pool = openPool(connectionString);
  const table = await freshTable(connectionString);
  const node = postgresNode(pool, { table, wakeUps: false });
  const redlock = new Redlock([node], { nodeTimeoutMs: 5_000 });
  const lock = await redlock.acquire(["invoice:41", "prüfer 🔒"], { ttlMs: 60_000 });
  try {
    expect(await library.inTransaction(node.holds, lock)).toBe(true);
    await expect(library.outside(node.holds, lock)).rejects.toThrow(noTransaction);
    await expectFenced(library, pool, table, lock);
    await lock.release();
    expect(await library.inTransaction(node.holds, lock)).toBe(false);
  } finally {
    await library.end();
    await redlock.close();
    await pool.end();
  }
}

async function expectFenced(library: Library, pool: pg.Pool, suffix: string, lock: Lock): Promise<void> {
  const table = `guarded by ${suffix}`;
  await pool.query(`CREATE TABLE "${table}" (lock text)`);
  await pool.query(createGuard({ tables: [{ table, column: "lock" }] }));
  const insert = { name: "", text: `INSERT INTO "${table}" VALUES ($1::text) RETURNING 1` };
  const writeAfter =
    (state?: Call<void>): Call<unknown> =>
    async (transaction, given) => {
      await state?.(transaction, given);
      for (const resource of given.resources) await runIn(transaction, insert, [resource]);
    };
  const reasonOf = async (writing: Promise<unknown>) => {
    const error = await writing.then(
      () => undefined,
      (reason) => reason,
    );
    const { message, cause, meta } = Object(error);
    return [message, cause?.message, JSON.stringify(meta)].join(" ");
  };
  for (const state of [fenced, registerRead]) {
    expect(await reasonOf(library.inTransaction(writeAfter(), lock))).toContain("has stated no fencing token");
    await library.inTransaction(writeAfter(state), lock);
    const older: Lock = { ...lock, fence: lock.fence - 1 };
    expect(await reasonOf(library.inTransaction(writeAfter(state), older))).toContain("is registered already");
    await expect(library.outside(state, lock)).rejects.toThrow(noTransaction);
  }
  expect((await pool.query(`SELECT FROM "${table}"`)).rowCount).toBe(2 * lock.resources.length);
}

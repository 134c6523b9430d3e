import { type Lock, Redlock } from "@holdfast/core";
import { createGuard, fenced, mysqlNode, registerRead } from "@holdfast/mysql";
import mysql from "mysql2/promise";
import { expect } from "vitest";
import type { Library, Step } from "./libraries.ts";
import { freshTable } from "./servers.ts";

const noTransaction = "not a client without a transaction: run START TRANSACTION first";

/**
 * Judges whether `holds` keeps a lock in a transaction of the library, whether a guarded table knows the token that `fenced`
 * and `registerRead` show in one, and whether all are refused outside of one. Ends the library.
 */
export async function expectHolds(library: Library, uri: string): Promise<void> {
  const pool = mysql.createPool({ uri, connectionLimit: 2 });
  const table = await freshTable(uri);
  const node = mysqlNode(pool, { table });
  const redlock = new Redlock([node], { nodeTimeoutMs: 5_000 });
  const lock = await redlock.acquire(["invoice:41", "prüfer 🔒 ?"], { ttlMs: 60_000 });
  const holds: Step<boolean> = (transaction, _, held) => node.holds(transaction, held);
  try {
    expect(await library.inTransaction(holds, lock)).toBe(true);
    await expect(library.outside(holds, lock)).rejects.toThrow(noTransaction);
    await expectFenced(library, pool, `guarded by ${table}`, lock);
    await lock.release();
    expect(await library.inTransaction(holds, lock)).toBe(false);
  } finally {
    await library.end();
    await redlock.close();
    await pool.end();
  }
}

async function expectFenced(library: Library, pool: mysql.Pool, table: string, lock: Lock): Promise<void> {
  await pool.query(`CREATE TABLE \`${table}\` (lock_name VARCHAR(100) CHARACTER SET utf8mb4)`);
  for (const statement of createGuard({ tables: [{ table, column: "lock_name" }] })) await pool.query(statement);
  const values = lock.resources.map(
    (resource) => `(CONVERT(X'${Buffer.from(resource).toString("hex")}' USING utf8mb4))`,
  );
  const insert = `INSERT INTO \`${table}\` VALUES ${values}`;
  const forgetful: Step<unknown> = async (_, run) => run(insert);
  const write: Step<unknown> = (transaction, run, held) => fenced(transaction, held, () => run(insert));
  const read: Step<void> = (transaction, _, held) => registerRead(transaction, held);
  const readAndWrite: Step<unknown> = async (...given) => {
    await read(...given);
    return write(...given);
  };
  const older: Lock = { ...lock, fence: lock.fence - 1 };
  for (const step of [write, readAndWrite]) {
    expect(await reasonOf(library.inTransaction(forgetful, lock))).toContain("has stated no fencing token");
    await library.inTransaction(step, lock);
    expect(await reasonOf(library.inTransaction(step, older))).toContain(`fence ${lock.fence} is registered`);
    await expect(library.outside(step, lock)).rejects.toThrow(noTransaction);
  }
  expect(await reasonOf(library.inTransaction(read, older))).toContain(`fence ${lock.fence} is registered`);
  const [rows] = await pool.query<mysql.RowDataPacket[]>(`SELECT * FROM \`${table}\``);
  expect(rows).toHaveLength(2 * lock.resources.length);
}

/** Returns the messages of an error, which many libraries wrap. */
async function reasonOf(work: Promise<unknown>): Promise<string> {
  const { message, cause, meta } = Object(
    await work.then(
      () => undefined,
      (reason) => reason,
    ),
  );
  return [message, cause?.message, JSON.stringify(meta)].join(" ");
}

/** MySQL or MariaDB over `mysql2`: Holdfast with its defaults, `GET_LOCK()`, and a lease in a row. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { mysqlNode } from "@holdfast/mysql";
import mysql, { type ResultSetHeader, type RowDataPacket } from "mysql2/promise";
import { type Connect, ttlMs } from "./contender.ts";
import { holdfastClient } from "./holdfast-client.ts";
import { pollMs } from "./polling.ts";

/** As many as there are calls at a time: a holder of `GET_LOCK()` keeps one for itself. */
const connections = 16;

export const overPool: Connect = async ([uri], settings) => {
  const pool = await openPool(uri);
  return holdfastClient([mysqlNode(pool)], settings, () => pool.end());
};

/** A session lock: taken, waited for and released on one connection, which is borrowed for that time. */
export const getLock: Connect = async ([uri]) => {
  const pool = await openPool(uri);
  return {
    async acquire(key) {
      const session = await pool.getConnection();
      const run = async (call: string): Promise<void> => {
        const [rows] = await session.query<RowDataPacket[]>(`SELECT ${call} AS result`, [key]);
        if (rows[0]?.result !== 1) throw new Error(`${call} returned ${rows[0]?.result}`);
      };
      try {
        await run("GET_LOCK(?, 60)");
      } catch (error) {
        session.destroy();
        throw error;
      }
      return async () => {
        await run("RELEASE_LOCK(?)");
        session.release();
      };
    },
    close: () => pool.end(),
  };
};

/** The table of {@link rowLease}. */
export const leaseTable =
  "CREATE TABLE leases (name VARCHAR(100) PRIMARY KEY, owner CHAR(36), until DATETIME(6) NOT NULL) ENGINE = InnoDB";

const untilNext = `NOW(6) + INTERVAL ${ttlMs / 1_000} SECOND`;
const renew = `UPDATE leases SET owner = ?, until = ${untilNext} WHERE name = ? AND (owner IS NULL OR until < NOW(6))`;
const insert = `INSERT IGNORE INTO leases (owner, until, name) VALUES (?, ${untilNext}, ?)`;

/** What people write by hand: a row for each name, with an owner and an end. */
export const rowLease: Connect = async ([uri]) => {
  const pool = await openPool(uri);
  const isChanged = async (text: string, values: string[]): Promise<boolean> => {
    const [{ affectedRows }] = await pool.query<ResultSetHeader>(text, values);
    return affectedRows > 0;
  };
  return {
    async acquire(key) {
      const owner = randomUUID();
      while (!((await isChanged(renew, [owner, key])) || (await isChanged(insert, [owner, key])))) await sleep(pollMs);
      return () => isChanged("UPDATE leases SET owner = NULL WHERE name = ? AND owner = ?", [key, owner]);
    },
    close: () => pool.end(),
  };
};

/** Opens all connections, so that none is opened while the clock runs. */
async function openPool(uri: unknown): Promise<mysql.Pool> {
  const pool = mysql.createPool({ uri: String(uri), connectionLimit: connections });
  const all = await Promise.all(Array.from({ length: connections }, () => pool.getConnection()));
  for (const connection of all) connection.release();
  return pool;
}

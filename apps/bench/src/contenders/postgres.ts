/** PostgreSQL over `pg`: Holdfast with its defaults, and advisory locks. */

import { postgresNode } from "@holdfast/postgres";
import pg from "pg";
import type { Connect } from "./contender.ts";
import { holdfastClient } from "./holdfast-client.ts";

/** As many as there are calls at a time: a holder of an advisory lock keeps one for itself. */
const connections = 16;

export const overPool: Connect = async ([url], settings) => {
  const pool = await openPool(url);
  return holdfastClient([postgresNode(pool)], settings, () => pool.end());
};

/** A session lock: taken, waited for and released on one connection, which is borrowed for that time. */
export const advisory: Connect = async ([url]) => {
  const pool = await openPool(url);
  return {
    async acquire(key) {
      const session = await pool.connect();
      const run = (name: "lock" | "unlock") =>
        session.query({ name, text: `SELECT pg_advisory_${name}(hashtextextended($1, 0))`, values: [key] });
      try {
        await run("lock");
      } catch (error) {
        session.release(true);
        throw error;
      }
      return async () => {
        await run("unlock");
        session.release();
      };
    },
    close: () => pool.end(),
  };
};

/** Opens all connections, so that none is opened while the clock runs. */
async function openPool(url: unknown): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: String(url), max: connections });
  pool.on("error", () => {});
  await Promise.all(Array.from({ length: connections }, () => pool.query("SELECT")));
  return pool;
}

import { Redlock } from "@holdfast/core";
import { createTable, type PostgresNode, postgresNode } from "@holdfast/postgres";
import pg from "pg";
import { schema } from "../postgres/fenced-rows.ts";

/** Accounts and locks in one database. */
export interface LocksInPostgres {
  readonly pool: pg.Pool;
  readonly node: PostgresNode;
  readonly redlock: Redlock;
  close(): Promise<void>;
}

/** Opens the database. */
export async function openLocksInPostgres(connectionString: string): Promise<LocksInPostgres> {
  const pool = new pg.Pool({ connectionString });
  pool.on("error", () => {}); // errors of idle connections; queries reject on their own
  await pool.query(schema);
  await pool.query(createTable());
  const node = postgresNode(pool);
  const redlock = new Redlock([node], { ttlMs: 60_000, waitTimeoutMs: 60_000 });
  return {
    pool,
    node,
    redlock,
    async close() {
      await redlock.close();
      await pool.end();
    },
  };
}

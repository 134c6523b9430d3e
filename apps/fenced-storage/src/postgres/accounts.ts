import type { Cleanup } from "@holdfast/testkit/cleanup";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import type { Accounts } from "../accounts.ts";
import { readBalance, schema, writeBalance } from "./fenced-rows.ts";

/** Starts a real server. */
export async function start(cleanup: Cleanup): Promise<string> {
  const server = await startPostgresServer();
  cleanup.defer(server.stop);
  return server.connectionString;
}

/** Opens accounts in the rows of a PostgreSQL table. */
export async function open(connectionString: string): Promise<Accounts> {
  const pool = new pg.Pool({ connectionString });
  pool.on("error", () => {}); // errors of idle connections; queries reject on their own
  await pool.query(schema);
  return {
    async create(id, balance) {
      await pool.query("INSERT INTO accounts (id, balance) VALUES ($1, $2)", [id, balance]);
    },
    async read(id, fence) {
      if (fence !== undefined) return readBalance(pool, id, fence);
      const { rows } = await pool.query<{ balance: number }>("SELECT balance FROM accounts WHERE id = $1", [id]);
      return (rows[0] as { balance: number }).balance;
    },
    async write(id, balance, fence) {
      if (fence !== undefined) await writeBalance(pool, id, balance, fence);
      else await pool.query("UPDATE accounts SET balance = $2 WHERE id = $1", [id, balance]);
    },
    close: () => pool.end(),
  };
}

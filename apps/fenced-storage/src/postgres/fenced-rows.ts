import { StaleFenceError } from "@holdfast/redis";
import type { Pool } from "pg";

/** Each row remembers the newest token that it was shown, and the token of its last write. */
export const schema = `
  CREATE TABLE IF NOT EXISTS accounts (
    id text PRIMARY KEY,
    balance integer NOT NULL,
    fence bigint NOT NULL DEFAULT 0,
    written_by bigint NOT NULL DEFAULT 0
  )`;

/** Reads a balance, unless a newer token has written it. From then on, the row refuses older writers. */
export async function readBalance(pool: Pool, id: string, fence: number): Promise<number> {
  const update = `UPDATE accounts SET fence = greatest(fence, $2)
    WHERE id = $1 AND written_by <= $2 RETURNING balance`;
  const { rows } = await pool.query<{ balance: number }>(update, [id, fence]);
  return rows[0]?.balance ?? refuse(pool, "read", id, fence);
}

/** Writes a balance, unless the row was shown a newer token. */
export async function writeBalance(pool: Pool, id: string, balance: number, fence: number): Promise<void> {
  const update = `UPDATE accounts SET balance = $3, fence = $2, written_by = $2
    WHERE id = $1 AND fence <= $2`;
  const { rowCount } = await pool.query(update, [id, fence, balance]);
  if (rowCount === 0) await refuse(pool, "write", id, fence);
}

/** Throws the reason why no row was changed. */
async function refuse(pool: Pool, action: "read" | "write", id: string, fence: number): Promise<never> {
  const { rows } = await pool.query<{ fence: string }>("SELECT fence FROM accounts WHERE id = $1", [id]);
  if (rows[0] === undefined) throw new Error(`could not ${action} account ${id}: there is no such row`);
  throw new StaleFenceError(action, id, fence, Number(rows[0].fence));
}

import type { Pool, PoolClient } from "pg";

/** Does work in a transaction that shows a token to the tables that `fence-guard.sql` guards. */
export async function withFence<T>(pool: Pool, fence: number, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("SELECT set_config('holdfast.fence', $1, true)", [String(fence)]); // until the transaction ends
    const result = await work(client);
    await client.query("COMMIT");
    client.release();
    return result;
  } catch (error) {
    client.release(true); // closes the connection, which undoes the transaction, however broken either is
    throw error;
  }
}

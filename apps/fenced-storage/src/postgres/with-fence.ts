import type { Pool, PoolClient } from "pg";

/** Does work in a transaction that shows a token to the tables that `fence-guard.sql` guards. */
export async function withFence<T>(pool: Pool, fence: number, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on("error", ignore);
  try {
    await client.query("BEGIN");
    await client.query("SELECT set_config('holdfast.fence', $1, true)", [String(fence)]); // until the transaction ends
    const result = await work(client);
    const { command } = await client.query("COMMIT");
    // COMMIT undoes a transaction of which a statement has failed, also where the work has caught the error.
    if (command !== "COMMIT") throw new Error("the transaction was undone, as one of its statements had failed");
    client.off("error", ignore);
    client.release();
    return result;
  } catch (error) {
    client.release(true); // closes the connection, which undoes the transaction, however broken either is
    throw error;
  }
}

/** A connection that is lost ends the process, if nobody hears of it. The query that is under way rejects. */
function ignore(): void {}

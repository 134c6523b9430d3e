import type { Pool, PoolClient } from "pg";

/** Works in a transaction. Rejects unless it is committed. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on("error", ignore);
  try {
    await client.query("BEGIN");
    const result = await work(client);
    const { command } = await client.query("COMMIT");
    // COMMIT rolls back if a statement has failed, even if the work has caught the error.
    if (command !== "COMMIT")
      throw new Error("the transaction was rolled back, because one of its statements had failed");
    client.off("error", ignore);
    client.release();
    return result;
  } catch (error) {
    client.release(true); // closes the connection, which rolls the transaction back in any state
    throw error;
  }
}

/** Without a listener, a lost connection ends the process. The query in flight rejects. */
function ignore(): void {}

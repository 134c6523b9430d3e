import type { Lock } from "@holdfast/core";
import type { PostgresNode } from "@holdfast/postgres";
import type { Pool, PoolClient } from "pg";

/** The lock was lost before the transaction began. Nothing was written. */
export class LockGoneError extends Error {}

/** Works in a transaction that keeps the lock until it ends: no other owner gets it before. */
export async function inLockedTransaction<T>(
  pool: Pool,
  node: PostgresNode,
  lock: Lock,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  client.on("error", ignore);
  try {
    await client.query("BEGIN");
    if (!(await node.holds(client, lock))) throw new LockGoneError(`the lock on ${lock.resources} is lost`);
    const result = await work(client);
    const { command } = await client.query("COMMIT");
    if (command !== "COMMIT") throw new Error("the transaction was rolled back, because a statement had failed");
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

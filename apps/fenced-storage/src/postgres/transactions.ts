import type { Lock } from "@holdfast/core";
import type { PostgresNode } from "@holdfast/postgres";
import type { Pool, PoolClient } from "pg";

/** Works in a transaction that shows a token to the tables guarded by `fence-guard.sql`. */
export function withFence<T>(pool: Pool, fence: number, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query("SELECT set_config('holdfast.fence', $1, true)", [String(fence)]); // until the transaction ends
    return work(client);
  });
}

/** The lock was lost before the transaction began. Nothing was written. */
export class LockGoneError extends Error {}

/** Works in a transaction that keeps the lock until it ends: no other owner gets it before. */
export function inLockedTransaction<T>(
  pool: Pool,
  node: PostgresNode,
  lock: Lock,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, async (client) => {
    if (!(await node.holds(client, lock))) throw new LockGoneError(`the lock on ${lock.resources} is lost`);
    return work(client);
  });
}

/** Works in a transaction. Rejects unless it is committed. */
async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
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

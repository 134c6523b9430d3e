/**
 * Works through a long batch in a PostgreSQL database, one process at a time, in many short transactions.
 *
 * One transaction for the whole batch would need no lock, and would keep its rows locked and its connection open until the
 * end. Here the lock lasts for the batch, and each transaction keeps it until its commit: a process that was paused past the
 * ttl commits its open transaction before the next process begins, and starts no other one.
 */
import { type Lock, type Redlock, WaitTimeoutError } from "@holdfast/core";
import type { PostgresNode } from "@holdfast/postgres";
import type { Pool, PoolClient } from "pg";

/** How long to wait, in milliseconds, for a process that works on the batch. If that process dies, this one continues. */
const waitTimeoutMs = 60_000;

/**
 * Runs steps until one has nothing left to do. Each step is a transaction that finds its work in the database, so a process
 * continues where another one stopped.
 *
 * @param redlock a `Redlock` over this node alone
 * @param node the node over the database of the data
 * @param step works on a few rows, and resolves with whether more may be left
 * @throws {Error} when the lock was lost; steps before that are committed
 */
export async function runBatch(
  redlock: Redlock,
  node: PostgresNode,
  pool: Pool,
  name: string,
  step: (client: PoolClient) => Promise<boolean>,
): Promise<"done" | "still running elsewhere"> {
  try {
    return await redlock.using(`batch:${name}`, { waitTimeoutMs }, async (lock) => {
      while (await inTransaction(pool, node, lock, step));
      return "done" as const;
    });
  } catch (error) {
    if (error instanceof WaitTimeoutError) return "still running elsewhere";
    throw error;
  }
}

/** Runs a step in a transaction that keeps the lock until it ends. */
async function inTransaction<T>(
  pool: Pool,
  node: PostgresNode,
  lock: Lock,
  step: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  client.on("error", ignore);
  try {
    await client.query("BEGIN");
    if (!(await node.holds(client, lock))) {
      lock.signal.throwIfAborted();
      throw new Error(`the claim on ${lock.resources} is gone`);
    }
    const result = await step(client);
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

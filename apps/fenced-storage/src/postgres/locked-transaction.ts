import type { Lock } from "@holdfast/core";
import type { PostgresNode } from "@holdfast/postgres";
import type { Pool, PoolClient } from "pg";
import { inTransaction } from "./in-transaction.ts";

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

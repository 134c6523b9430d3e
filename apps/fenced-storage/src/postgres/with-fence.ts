import type { Pool, PoolClient } from "pg";
import { inTransaction } from "./in-transaction.ts";

/** Works in a transaction that shows a token to the tables guarded by `fence-guard.sql`. */
export function withFence<T>(pool: Pool, fence: number, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query("SELECT set_config('holdfast.fence', $1, true)", [String(fence)]); // until the transaction ends
    return work(client);
  });
}

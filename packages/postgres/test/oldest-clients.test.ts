import { type PostgresNode, postgresNode, type Transaction } from "@holdfast/postgres";
import type Pg from "pg";
// @ts-expect-error @types/pg does not know this alias
import untyped from "pg-oldest";
import postgres from "postgres-oldest";
import { expect, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const pg: typeof Pg = untyped;
const { connectionString } = await serverOfFile();

/** The oldest supported versions: how to open one, and to run a step in a transaction. */
const versions = {
  "pg 8.11": (table: string) => {
    const pool = new pg.Pool({ connectionString });
    return {
      node: postgresNode(pool, { table }),
      async inTransaction<T>(step: (transaction: Transaction) => Promise<T>): Promise<T> {
        const client = await pool.connect();
        await client.query("BEGIN");
        const result = await step(client);
        await client.query("COMMIT");
        await expect(step(client)).rejects.toThrow("not a client without a transaction");
        client.release();
        return result;
      },
      close: () => pool.end(),
    };
  },
  "postgres.js 3.4.0": (table: string) => {
    const sql = postgres(connectionString, { onnotice: () => {} });
    return {
      node: postgresNode(sql, { table }),
      inTransaction: <T>(step: (transaction: Transaction) => Promise<T>): Promise<T> => sql.begin(step) as Promise<T>,
      close: () => sql.end(),
    };
  },
};

test.each(Object.entries(versions))("postgresNode() locks, waits and holds over %s", async (_, open) => {
  const { node, inTransaction, close } = open(await freshTable(connectionString));
  const released: string[] = [];
  const unwatch = await (node as Required<PostgresNode>).watch(["r"], (resource) => released.push(resource));
  const timeoutMs = 5_000;
  const claim = { resources: ["r"], owner: "alice", ttlMs: 60_000, fenceHint: 7, timeoutMs };
  expect(await node.acquire(claim)).toEqual({ granted: true, fence: 7 });
  expect(await node.acquire({ ...claim, owner: "bob", waiter: "B" })).toMatchObject({
    granted: false,
    holder: "alice",
  });
  const lock = { resources: ["r"], owner: "alice", fence: 7 };
  expect(await inTransaction((transaction) => node.holds(transaction, lock))).toBe(true);
  const extension = { resources: ["r"], owner: "alice", ttlMs: 60_000, fence: 7, rejoin: false, timeoutMs };
  expect(await node.extend(extension)).toEqual({ held: true, fence: 7 });
  expect(await node.release({ resources: ["r"], owner: "alice", timeoutMs })).toEqual({ released: true, next: "B" });
  await expect.poll(() => released).toEqual(["r"]);
  expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(0);
  await unwatch();
  await node.close();
  await close();
});

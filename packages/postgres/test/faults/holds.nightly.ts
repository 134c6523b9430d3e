import { once } from "node:events";
import { expect, test } from "vitest";
import { openClient, startServer } from "./client.ts";

test("PostgresNode.holds() protects no transaction that idle_in_transaction_session_timeout ended, and nothing is written", async () => {
  const server = await startServer({ settings: { idle_in_transaction_session_timeout: "200ms" } });
  const { pool, node, redlock } = openClient(server.connectionString);
  await pool.query("CREATE TABLE invoices (id int)");
  const lock = await redlock.acquire("invoices");
  const tx = await pool.connect();
  const isLost = once(tx, "error");
  await tx.query("BEGIN");
  expect(await node.holds(tx, lock)).toBe(true);
  await tx.query("INSERT INTO invoices VALUES (1)");
  const [reason] = await isLost;
  expect(reason).toMatchObject({ code: "25P03" });
  await expect(tx.query("COMMIT")).rejects.toThrow();
  tx.release(true);
  expect((await pool.query("SELECT * FROM invoices")).rows).toEqual([]);
  // The lock itself is unharmed, and the transaction may be tried again.
  const retry = await pool.connect();
  await retry.query("BEGIN");
  expect(await node.holds(retry, lock)).toBe(true);
  await retry.query("INSERT INTO invoices VALUES (1)");
  await retry.query("COMMIT");
  retry.release();
  await lock.release();
  expect((await pool.query("SELECT * FROM invoices")).rows).toEqual([{ id: 1 }]);
});

import { expect, test } from "vitest";
import { openClient, startServer } from "./client.ts";
import { createLedger } from "./ledger.ts";
import { startStorm } from "./storm.ts";

test.for(["read committed", "serializable"])(
  "postgresNode() keeps exclusion without a deadlock, where transactions are %s",
  async (level, { annotate }) => {
    const server = await startServer({ settings: { default_transaction_isolation: level } });
    const storm = startStorm(server);
    await storm.grants(300);
    await storm.expectExclusion(annotate, `24 workers on overlapping sets, ${level}`);
    // Whatever holders did not release ends with its ttl.
    const { pool } = openClient(server.connectionString);
    const held = "SELECT name FROM holdfast_locks WHERE owner IS NOT NULL AND until > clock_timestamp()";
    await expect.poll(async () => (await pool.query(held)).rows).toEqual([]);
  },
);

test("createLedger() notices claims and counters that a server forgets", async () => {
  const server = await startServer();
  const [one, two] = [openClient(server.connectionString), openClient(server.connectionString, { isBehind: true })];
  const ledger = createLedger();
  ledger.enter(await one.redlock.acquire(["a", "b"]));
  await one.pool.query("TRUNCATE holdfast_locks");
  ledger.enter(await two.redlock.acquire(["b", "c"]));
  expect(ledger.locks).toBe(2);
  expect(ledger.overlaps).toEqual([expect.stringContaining("b was granted while it was held")]);
  expect(ledger.fenceFaults).toEqual([expect.stringContaining("b got token 1 after ")]);
});

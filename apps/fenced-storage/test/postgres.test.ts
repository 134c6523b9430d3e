import { readFile } from "node:fs/promises";
import { Redlock } from "@holdfast/core";
import { createTable, postgresNode } from "@holdfast/postgres";
import { type PostgresServer, startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readBalance, schema, writeBalance } from "../src/postgres/fenced-rows.ts";
import { inLockedTransaction, LockGoneError, withFence } from "../src/postgres/transactions.ts";
import { testLateWrites } from "./late-writes.ts";

let server: PostgresServer;
let pool: pg.Pool;
beforeAll(async () => {
  server = await startPostgresServer();
  pool = new pg.Pool({ connectionString: server.connectionString });
  pool.on("error", () => {}); // the server may end before its last connections do
  await pool.query(schema);
  await pool.query(await readFile(new URL("../src/postgres/fence-guard.sql", import.meta.url), "utf8"));
  await pool.query(`
    CREATE TABLE guarded (id text PRIMARY KEY, balance integer NOT NULL, fence bigint NOT NULL DEFAULT 0);
    CREATE TRIGGER fence_guard BEFORE INSERT OR UPDATE OR DELETE ON guarded
      FOR EACH ROW EXECUTE FUNCTION fence_guard()`);
});
afterAll(async () => {
  await pool?.end();
  await server?.stop();
});

testLateWrites("postgres", async () => server.connectionString);

test("inLockedTransaction() keeps the lock until its commit, past the ttl, and then refuses it", async () => {
  await pool.query(createTable());
  await pool.query("INSERT INTO accounts VALUES ('locked', 100)");
  const node = postgresNode(pool);
  const options = { ttlMs: 60_000, waitTimeoutMs: 60_000 };
  const [redlock, rival] = [new Redlock([node], options), new Redlock([node], options)];
  const update = "UPDATE accounts SET balance = balance + $1 WHERE id = 'locked'";
  const add = (client: pg.PoolClient, amount: number) => client.query(update, [amount]);
  const late = await redlock.acquire("locked");
  let next: Promise<unknown> | undefined;
  await inLockedTransaction(pool, node, late, async (client) => {
    await pool.query("UPDATE holdfast_locks SET until = clock_timestamp()"); // the ttl has passed
    expect(await new Redlock([node], { nodeTimeoutMs: 200 }).tryAcquire("locked")).toBeNull();
    next = rival.using("locked", (lock) => inLockedTransaction(pool, node, lock, (other) => add(other, 50)));
    await add(client, -30);
  });
  await next;
  await expect(inLockedTransaction(pool, node, late, (client) => add(client, -30))).rejects.toThrow(LockGoneError);
  expect((await pool.query("SELECT balance FROM accounts WHERE id = 'locked'")).rows).toEqual([{ balance: 120 }]);
});

describe("fenced rows", () => {
  beforeEach(async () => {
    await pool.query("TRUNCATE accounts");
    await pool.query("INSERT INTO accounts VALUES ('7', 100)");
  });

  test("readBalance() makes the row refuse older writers from then on, but not older readers", async () => {
    expect(await readBalance(pool, "7", 42)).toBe(100);
    const refusal = { code: "STALE_FENCE", key: "7", fence: 41, newestFence: 42 };
    await expect(writeBalance(pool, "7", 70, 41)).rejects.toMatchObject(refusal);
    expect(await readBalance(pool, "7", 41)).toBe(100);
    await expect(writeBalance(pool, "7", 70, 41)).rejects.toMatchObject(refusal);
    await writeBalance(pool, "7", 150, 42);
    await expect(readBalance(pool, "7", 41)).rejects.toMatchObject(refusal);
    expect(await readBalance(pool, "7", 43)).toBe(150);
  });

  test("writeBalance() distinguishes the two largest tokens", async () => {
    await writeBalance(pool, "7", 1, Number.MAX_SAFE_INTEGER);
    await expect(writeBalance(pool, "7", 2, Number.MAX_SAFE_INTEGER - 1)).rejects.toMatchObject({
      newestFence: Number.MAX_SAFE_INTEGER,
    });
  });

  test("readBalance() and writeBalance() reject if there is no row", async () => {
    await expect(readBalance(pool, "8", 42)).rejects.toThrow("could not read account 8: there is no such row");
    await expect(writeBalance(pool, "8", 1, 42)).rejects.toThrow("could not write account 8: there is no such row");
  });

  test("writeBalance() alone loses an update: a late write before that of the new holder is accepted", async () => {
    const { rows } = await pool.query("SELECT balance FROM accounts WHERE id = '7'"); // B, with 42, shows no token
    await writeBalance(pool, "7", 100 - 30, 41); // A, late: the row has seen no newer token
    await writeBalance(pool, "7", rows[0].balance + 50, 42);
    expect(await readBalance(pool, "7", 43)).toBe(150);
  });
});

describe("fence-guard.sql", () => {
  beforeEach(async () => {
    await pool.query("TRUNCATE guarded");
    await withFence(pool, 41, (client) => client.query("INSERT INTO guarded VALUES ('7', 100), ('8', 100)"));
  });
  const balances = async (): Promise<unknown> =>
    (await pool.query("SELECT id, balance, fence::int FROM guarded ORDER BY id")).rows;

  test("fence_guard() refuses any statement with an older token, and its transaction is rolled back", async () => {
    await withFence(pool, 42, (client) => client.query("UPDATE guarded SET balance = 150 WHERE id = '7'"));
    const late = withFence(pool, 41, async (client) => {
      await client.query("UPDATE guarded SET balance = 0 WHERE id = '8'");
      await client.query("UPDATE guarded SET balance = 0");
    });
    await expect(late).rejects.toMatchObject({
      code: "LF409",
      message: "could not write to guarded with fence 41: the row was shown fence 42 already",
    });
    const upsert = "INSERT INTO guarded VALUES ('7', 0) ON CONFLICT (id) DO UPDATE SET balance = 0";
    await expect(withFence(pool, 41, (client) => client.query(upsert))).rejects.toMatchObject({ code: "LF409" });
    expect(await balances()).toEqual([
      { id: "7", balance: 150, fence: 42 },
      { id: "8", balance: 100, fence: 41 },
    ]);
  });

  test("fence_guard() stores the token of the transaction, not that of a statement", async () => {
    await withFence(pool, 42, (client) => client.query("UPDATE guarded SET fence = 0, balance = 1 WHERE id = '7'"));
    expect(await balances()).toContainEqual({ id: "7", balance: 1, fence: 42 });
  });

  test("fence_guard() registers the token of an update that changes nothing else", async () => {
    const read = "UPDATE guarded SET fence = fence WHERE id = '7' RETURNING balance";
    expect((await withFence(pool, 42, (client) => client.query(read))).rows).toEqual([{ balance: 100 }]);
    const late = withFence(pool, 41, (client) => client.query("UPDATE guarded SET balance = 70 WHERE id = '7'"));
    await expect(late).rejects.toMatchObject({ code: "LF409" });
  });

  test("fence_guard() refuses a transaction without a token, even after one with a token on the same connection", async () => {
    const client = new pg.Client({ connectionString: server.connectionString });
    await client.connect();
    for (const statement of ["BEGIN", "SELECT set_config('holdfast.fence', '42', true)", "COMMIT"]) {
      await client.query(statement);
    }
    await expect(client.query("UPDATE guarded SET balance = 0")).rejects.toMatchObject({
      code: "LF428",
      message: "could not write to guarded: no fencing token was shown",
      hint: expect.stringContaining("set_config('holdfast.fence'"),
    });
    await client.end();
  });

  test("fence_guard() refuses a late insert after an access to the row that represents the resource", async () => {
    const touch = "UPDATE guarded SET fence = fence WHERE id = '7'";
    await withFence(pool, 42, (client) => client.query(touch));
    const late = withFence(pool, 41, async (client) => {
      await client.query(touch);
      await client.query("INSERT INTO guarded VALUES ('9', 100)");
    });
    await expect(late).rejects.toMatchObject({ code: "LF409" });
    expect(await balances()).toHaveLength(2);
  });

  test("withFence() rejects if the work has caught the error that rolls its transaction back", async () => {
    const undone = withFence(pool, 42, async (client) => {
      await client.query("UPDATE guarded SET balance = 150 WHERE id = '7'");
      await client.query("INSERT INTO guarded VALUES ('8', 0)").catch(() => {});
    });
    await expect(undone).rejects.toThrow("the transaction was rolled back");
    expect(await balances()).toContainEqual({ id: "7", balance: 100, fence: 41 });
  });

  test("withFence() rejects if the connection is lost, and the process lives on", async () => {
    const cut = withFence(pool, 42, async (client) => {
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      await pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
      await client.query("SELECT 1");
    });
    await expect(cut).rejects.toThrow();
  });

  test("fence_guard() refuses to delete a row, which would forget its token", async () => {
    const gone = withFence(pool, 42, (client) => client.query("DELETE FROM guarded WHERE id = '7'"));
    await expect(gone).rejects.toMatchObject({ code: "LF405" });
  });

  test("fence_guard() compares a write that has waited with the latest token of the row", async () => {
    let late: Promise<unknown> | undefined;
    await withFence(pool, 42, async (client) => {
      await client.query("UPDATE guarded SET balance = 150 WHERE id = '7'");
      late = withFence(pool, 41, (other) => other.query("UPDATE guarded SET balance = 0 WHERE id = '7'"));
      late.catch(() => {});
      const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
      await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1);
    });
    await expect(late).rejects.toMatchObject({ code: "LF409" });
  });
});

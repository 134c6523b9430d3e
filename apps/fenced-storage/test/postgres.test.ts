import { type PostgresServer, startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readBalance, schema, writeBalance } from "../src/postgres/fenced-rows.ts";
import { testLateWrites } from "./late-writes.ts";

let server: PostgresServer;
let pool: pg.Pool;
beforeAll(async () => {
  server = await startPostgresServer();
  pool = new pg.Pool({ connectionString: server.connectionString });
  pool.on("error", () => {}); // the server may end before its last connections do
  await pool.query(schema);
});
afterAll(async () => {
  await pool?.end();
  await server?.stop();
});

testLateWrites("postgres");

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
    for (const fence of [42, 43]) expect(await readBalance(pool, "7", fence)).toBe(150);
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
});

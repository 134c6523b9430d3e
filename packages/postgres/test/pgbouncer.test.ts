import { Redlock } from "@holdfast/core";
import { postgresNode } from "@holdfast/postgres";
import { startPgBouncer } from "@holdfast/testkit/pgbouncer";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeEach, expect, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const server = await serverOfFile();
const bouncer = await startPgBouncer(server, { poolMode: "transaction" });
const pool = new pg.Pool({ connectionString: bouncer.connectionString });
const direct = new pg.Pool({ connectionString: server.connectionString });
const sql = postgres(bouncer.connectionString, { prepare: false, onnotice: () => {} });
for (const each of [pool, direct]) each.on("error", () => {});
afterAll(async () => {
  await Promise.all([pool.end(), direct.end(), sql.end()]);
  await bouncer.stop();
});

let table: string;
beforeEach(async () => {
  table = await freshTable(server.connectionString);
});

test("postgresNode() runs no statement of another table that a shared connection keeps prepared", async () => {
  const tables = [table, await freshTable(server.connectionString)];
  const pools = tables.map(() => new pg.Pool({ connectionString: bouncer.connectionString, max: 2 }));
  const nodes = pools.map((each, index) => postgresNode(each, { table: tables[index] }));
  const request = { resources: ["r"], ttlMs: 60_000, fenceHint: 1, timeoutMs: 5_000 };
  for (const [index, node] of nodes.entries()) {
    expect(await node.acquire({ ...request, owner: `owner ${index}` })).toEqual({ granted: true, fence: 1 });
  }
  for (const name of tables) expect((await direct.query(`SELECT FROM "${name}"`)).rowCount).toBe(1);
  await Promise.all(pools.map((each) => each.end()));
});

test("watch() rejects over PgBouncer in transaction mode, and works with a listener that connects directly", async () => {
  const blind = postgresNode(pool, { table });
  await expect(blind.watch?.(["r"], () => {})).rejects.toThrow("notifications do not arrive");
  await expect(blind.watch?.(["r"], () => {})).rejects.toThrow("pass the node a `listener`");
  const released: string[] = [];
  const node = postgresNode(pool, { table, listener: direct });
  const unwatch = await node.watch?.(["r"], (resource) => released.push(resource));
  await node.acquire({ resources: ["r"], owner: "alice", ttlMs: 60_000, fenceHint: 1, timeoutMs: 5_000 });
  await blind.release({ resources: ["r"], owner: "alice", timeoutMs: 5_000 });
  await expect.poll(() => released).toEqual(["r"]);
  await unwatch?.();
  await Promise.all([node.close(), blind.close()]);
});

test("postgresNode() locks and holds through PgBouncer in transaction mode, over postgres.js with prepare: false", async () => {
  const node = postgresNode(sql, { table, wakeUps: false });
  const redlock = new Redlock([node], { nodeTimeoutMs: 1_000 });
  const lock = await redlock.acquire("r");
  await sql.begin(async (transaction) => {
    expect(await node.holds(transaction, lock)).toBe(true);
    await lock.release();
    expect(await redlock.tryAcquire("r")).toBeNull();
  });
  expect(await redlock.tryAcquire("r")).not.toBeNull();
});

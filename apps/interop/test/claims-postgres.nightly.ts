/** The statements of from-pg-advisory-locks.md and from-row-locks.md about PostgreSQL, beyond the code on these pages. */

import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { createTable, postgresNode } from "@holdfast/postgres";
import { startPgBouncer } from "@holdfast/testkit/pgbouncer";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import { Logger, quickAddJob, run, type Task } from "graphile-worker";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

const server = await startPostgresServer();
const pool = openPool(server.connectionString);
const node = postgresNode(pool);
const redlock = new Redlock([node], { ttlMs: 60_000 });
beforeAll(() => pool.query(createTable()));
afterAll(async () => {
  await redlock.close();
  // Other libraries end their connections without waiting for that, and do not expect errors on them afterwards.
  while ((await clientsBesidesPool()) > 0) await sleep(20);
  await pool.end();
  await server.stop();
});

async function clientsBesidesPool(): Promise<number> {
  const { rows } = await pool.query("SELECT FROM pg_stat_activity WHERE backend_type = 'client backend'");
  return rows.length - pool.totalCount;
}

const endIdle =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname <> ''";
let keys = 0;
const freshKey = (): number => ++keys;

function openPool(connectionString: string): pg.Pool {
  const opened = new pg.Pool({ connectionString, max: 20 });
  opened.on("error", () => {}); // of connections that the tests end
  return opened;
}

/** Opens a connection until the end of the test. */
async function connect(connectionString = server.connectionString): Promise<pg.Client> {
  const client = new pg.Client(connectionString);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return client;
}

/** Calls a function such as `pg_try_advisory_lock(1)`, and returns its result. */
async function call(client: pg.Client | pg.Pool, expression: string): Promise<unknown> {
  return (await client.query(`SELECT ${expression} AS result`)).rows[0].result;
}

/** Resolves when this many sessions wait for a lock. */
async function waitingSessions(count: number): Promise<void> {
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(count);
}

describe("an advisory lock", () => {
  test("is granted again to its session, and then needs a second unlock", async () => {
    const [one, other, key] = [await connect(), await connect(), freshKey()];
    for (let times = 0; times < 2; times++) expect(await call(one, `pg_try_advisory_lock(${key})`)).toBe(true);
    expect(await call(one, `pg_advisory_unlock(${key})`)).toBe(true);
    expect(await call(other, `pg_try_advisory_lock(${key})`)).toBe(false);
    expect(await call(other, `pg_advisory_unlock(${key})`)).toBe(false);
    expect(await call(one, `pg_advisory_unlock(${key})`)).toBe(true);
    expect(await call(other, `pg_try_advisory_lock(${key})`)).toBe(true);
  });

  test("waits at most for lock_timeout", async () => {
    const [one, other, key] = [await connect(), await connect(), freshKey()];
    await call(one, `pg_advisory_lock(${key})`);
    await other.query("SET lock_timeout = 10");
    await expect(call(other, `pg_advisory_lock(${key})`)).rejects.toMatchObject({ code: "55P03" });
  });

  test("is free when its connection is lost; a Holdfast lock stays, and can be extended", async () => {
    const [holder, key] = [await connect(), freshKey()];
    await call(holder, `pg_advisory_lock(${key})`);
    const lock = await redlock.acquire(`resource-${key}`);
    await pool.query(endIdle);
    const other = await connect();
    await expect.poll(() => call(other, `pg_try_advisory_lock(${key})`)).toBe(true);
    expect(await redlock.tryAcquire(`resource-${key}`)).toBeNull();
    await lock.extend();
    await lock.release();
  });

  test("is free after a restart of the server; a Holdfast lock stays", async () => {
    const [holder, key] = [await connect(), freshKey()];
    await call(holder, `pg_advisory_lock(${key})`);
    const lock = await redlock.acquire(`resource-${key}`);
    await server.restart();
    const other = await connect();
    expect(await call(other, `pg_try_advisory_lock(${key})`)).toBe(true);
    await expect.poll(() => redlock.tryAcquire(`resource-${key}`).catch(() => "unreachable")).toBeNull();
    await lock.release();
  });

  test("fails with a deadlock if two sessions wait for each other", async () => {
    const [one, other, a, b] = [await connect(), await connect(), freshKey(), freshKey()];
    await call(one, `pg_advisory_lock(${a})`);
    await call(other, `pg_advisory_lock(${b})`);
    const outcomes = await Promise.allSettled([
      call(one, `pg_advisory_lock(${b})`).catch((error) => one.end().then(() => Promise.reject(error))),
      call(other, `pg_advisory_lock(${a})`).catch((error) => other.end().then(() => Promise.reject(error))),
    ]);
    const failures = outcomes.filter(({ status }) => status === "rejected");
    expect(failures).toMatchObject([{ reason: { code: "40P01" } }]);
  });

  test("excludes nobody through PgBouncer in transaction mode, and stays when its client is gone", async () => {
    const bouncer = await startPgBouncer(server, { poolMode: "transaction", poolSize: 1 });
    onTestFinished(() => bouncer.stop());
    const [one, other, key] = [await connect(bouncer.connectionString), await connect(bouncer.connectionString), 77];
    expect(await call(one, `pg_try_advisory_lock(${key})`)).toBe(true);
    expect(await call(other, `pg_try_advisory_lock(${key})`)).toBe(true);
    await one.end();
    await other.end();
    expect(await call(await connect(), `pg_try_advisory_lock(${key})`)).toBe(false);
  });

  test("of a session excludes pg_advisory_xact_lock with the same key, which then lets holds() decide", async () => {
    const [old, client, key] = [await connect(), await connect(), freshKey()];
    await call(old, `pg_advisory_lock(${key})`);
    const lock = await redlock.acquire(`resource-${key}`);
    await client.query("BEGIN");
    const waiting = client.query(`SELECT pg_advisory_xact_lock(${key})`);
    await waitingSessions(1);
    await lock.release(); // as if the ttl had passed meanwhile
    const next = await redlock.acquire(`resource-${key}`);
    await old.end();
    await waiting;
    expect(await node.holds(client, lock)).toBe(false);
    expect(await node.holds(client, next)).toBe(true);
    await client.query("ROLLBACK");
    await next.release();
  });
});

test("FOR UPDATE NOWAIT fails if another transaction has the row", async () => {
  const [one, other] = [await connect(), await connect()];
  await one.query("CREATE TABLE row_locks AS SELECT 1 AS id");
  await one.query("BEGIN");
  await one.query("SELECT FROM row_locks FOR UPDATE");
  await expect(other.query("SELECT FROM row_locks FOR UPDATE NOWAIT")).rejects.toMatchObject({ code: "55P03" });
  expect((await other.query("SELECT FROM row_locks FOR UPDATE SKIP LOCKED")).rowCount).toBe(0);
  await one.query("ROLLBACK");
});

test("graphile-worker starts a job again after four hours, although it still runs; a Holdfast lock keeps it out", async () => {
  const logger = new Logger(() => () => {});
  const outcomes: string[] = [];
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const task: Task = async () => {
    const lock = await redlock.tryAcquire("job:long", { ttlMs: 600_000 });
    outcomes.push(lock === null ? "held elsewhere" : "alone");
    if (lock === null) throw new Error("the job still runs in another worker");
    await finished;
    await lock.release();
  };
  // By default, a worker looks for jobs of dead workers at a random moment of its first minute.
  const reset = { minResetLockedInterval: 500, maxResetLockedInterval: 500 };
  const start = () =>
    run({
      connectionString: server.connectionString,
      logger,
      noHandleSignals: true,
      taskList: { long: task },
      ...reset,
    });
  await quickAddJob({ pgPool: pool, logger }, "long", {});
  const first = await start();
  await expect.poll(() => outcomes).toEqual(["alone"]);
  await pool.query("UPDATE graphile_worker._private_jobs SET locked_at = locked_at - interval '241 minutes'");
  const second = await start();
  await expect.poll(() => outcomes).toEqual(["alone", "held elsewhere"]);
  finish();
  await Promise.all([first.stop(), second.stop()]);
});

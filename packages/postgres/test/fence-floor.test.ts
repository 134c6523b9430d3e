import { EpochError } from "@holdfast/core";
import { createTable, type PostgresNode, postgresNode } from "@holdfast/postgres";
import { startPgBouncer } from "@holdfast/testkit/pgbouncer";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const server = await serverOfFile();
const { connectionString } = server;
const pool = new pg.Pool({ connectionString, max: 20 });
pool.on("error", () => {});
afterAll(() => pool.end());

let table: string;
let node: PostgresNode;
beforeEach(async () => {
  table = await freshTable(connectionString);
  node = postgresNode(pool, { table, wakeUps: false });
});

const timeoutMs = 20_000;

/** Returns an acquire request. */
function claim(owner: string, ...resources: string[]) {
  return { resources: resources.sort(), owner, ttlMs: 60_000, fenceHint: 1, timeoutMs };
}

/** Resolves when this many statements wait for a lock. */
async function waiting(count: number): Promise<void> {
  const isWaiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  await expect.poll(async () => (await pool.query(isWaiting)).rowCount, { timeout: timeoutMs }).toBe(count);
}

/** Begins a transaction that keeps the lock of an owner whose claim has ended. Returns a function that ends it. */
async function holdPastEnd(...resources: string[]): Promise<() => Promise<void>> {
  const { fence } = (await node.acquire(claim("alice", ...resources))) as { fence: number };
  const client = await pool.connect();
  await client.query("BEGIN");
  expect(await node.holds(client, { resources, owner: "alice", fence })).toBe(true);
  await node.release({ resources, owner: "alice", timeoutMs });
  return async () => {
    await client.query("COMMIT");
    client.release();
  };
}

describe("raiseFloor()", () => {
  const shapes: [string, string[], boolean][] = [
    ["one resource", ["a"], false],
    ["several resources", ["a", "b"], false],
    ["a shared resource", ["a"], true],
    ["several shared resources", ["a", "b"], true],
  ];

  test.each(shapes)("acquire() of %s waits, and obeys an epoch that is raised meanwhile", async (...shape) => {
    for (const level of ["read committed", "repeatable read", "serializable"]) {
      const [, resources, shared] = shape;
      const own = new pg.Pool({
        connectionString,
        options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`,
      });
      const other = postgresNode(own, { table, wakeUps: false });
      const stored = await node.raiseFloor({ floor: 0, epoch: 0, timeoutMs });
      const epoch = stored.epoch || 1;
      await other.acquire({ ...claim("alice", "a", "b"), epoch });
      await other.release({ resources: ["a", "b"], owner: "alice", timeoutMs });
      const raising = await pool.connect();
      await raising.query(`BEGIN; LOCK TABLE "${table}" IN SHARE ROW EXCLUSIVE MODE`);
      const acquiring = other.acquire({ ...claim("bob", ...resources), shared, epoch });
      const outcome = acquiring.catch((error) => error);
      await waiting(1);
      await raising.query(`INSERT INTO "${table}" AS row (name, until, fence) VALUES (E'\\tepoch', 'infinity', ${epoch + 4})
        ON CONFLICT (name) DO UPDATE SET fence = excluded.fence; COMMIT`);
      raising.release();
      expect(await outcome, level).toBeInstanceOf(EpochError);
      expect((await node.inspect("a")).owner, level).toBeNull();
      await own.end();
    }
  });

  test.each(shapes)("raiseFloor() resolves after an acquire() of %s that has read the old values", async (...shape) => {
    const [, resources, shared] = shape;
    const end = await holdPastEnd("a", "b");
    const acquiring = node.acquire({ ...claim("bob", ...resources), shared });
    await waiting(1);
    const raising = node.raiseFloor({ floor: 500, epoch: 3, timeoutMs });
    // The replies come over two connections, in any order: what counts is what the table has when the second is there.
    const found = raising.then(() => Promise.all(resources.map((resource) => node.inspect(resource))));
    await waiting(2);
    await end();
    expect(await acquiring).toMatchObject({ granted: true, fence: 2 });
    expect(await raising).toEqual({ floor: 500, epoch: 3 });
    expect((await found).map(({ owner }) => owner)).toEqual(resources.map(() => "bob"));
    const { claims } = await node.scan({ timeoutMs });
    expect(claims.map(({ owner }) => owner)).toEqual(resources.map(() => "bob"));
  });

  test("raiseFloor() rejects in time if a request takes longer, and changes nothing", async () => {
    const end = await holdPastEnd("a");
    const acquiring = node.acquire(claim("bob", "a"));
    await waiting(1);
    const raising = node.raiseFloor({ floor: 500, epoch: 3, timeoutMs: 100 });
    await expect(raising).rejects.toMatchObject({ code: "55P03" });
    expect(await node.raiseFloor({ floor: 0, epoch: 0, timeoutMs })).toEqual({ floor: 0, epoch: 0 });
    await end();
    expect(await acquiring).toEqual({ granted: true, fence: 2 });
  });

  test("raiseFloor() does not wait for transactions that hold a lock, and extend(), release() and holds() go on", async () => {
    const reply = await node.acquire(claim("alice", "a", "b"));
    const lock = { resources: ["a", "b"], owner: "alice", fence: (reply as { fence: number }).fence };
    const client = await pool.connect();
    await client.query("BEGIN");
    expect(await node.holds(client, lock)).toBe(true);
    expect(await node.raiseFloor({ floor: 500, epoch: 5, timeoutMs })).toEqual({ floor: 500, epoch: 5 });
    expect(await node.extend({ ...lock, ttlMs: 60_000, rejoin: false, timeoutMs })).toEqual({ held: true, fence: 1 });
    expect(await node.holds(client, lock)).toBe(true);
    await client.query("COMMIT");
    client.release();
    expect(await node.release({ ...lock, timeoutMs })).toEqual({ released: true });
    expect(await node.extend({ ...lock, ttlMs: 60_000, rejoin: true, timeoutMs })).toEqual({
      held: false,
      rejoined: true,
    });
    expect(await node.inspect("a")).toMatchObject({ owner: "alice", fence: 2, floor: 500 });
    expect(await node.inspect("never")).toEqual({ owner: null, remainingMs: null, fence: 0, floor: 500 });
  });

  test("the floor and the epoch outlive deleteUnused(), and are no resource of list(), scan() and new counters", async () => {
    await node.acquire(claim("alice", "a"));
    await node.release({ resources: ["a"], owner: "alice", timeoutMs });
    await node.raiseFloor({ floor: 500, epoch: 2, timeoutMs });
    await pool.query(`UPDATE "${table}" SET until = now() - interval '3 days' WHERE name = 'a'`);
    expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(1);
    expect(await node.raiseFloor({ floor: 0, epoch: 0, timeoutMs })).toEqual({ floor: 500, epoch: 2 });
    for await (const resource of node.list()) expect(resource).toBeUndefined();
    expect(await node.scan({ timeoutMs })).toEqual({ counters: 1, highest: 1, claims: [] });
    const rejoin = { resources: ["b"], owner: "bob", ttlMs: 60_000, fence: 1, rejoin: true, timeoutMs };
    expect(await node.extend(rejoin)).toEqual({ held: false, rejoined: true });
    expect((await node.inspect("b")).fence).toBe(2);
    expect(await node.acquire(claim("carol", "c", "\tfloor", "\tepoch"))).toEqual({
      granted: true,
      fence: 501,
      uniform: true,
    });
    expect((await node.inspect("\tfloor")).owner).toBe("carol");
  });

  test("raiseFloor() is on the disk, although claims need not be", async () => {
    const settings = { synchronous_commit: "off", wal_writer_delay: "10s" };
    const lax = await startPostgresServer({ fsync: true, settings });
    const own = new pg.Pool({ connectionString: lax.connectionString });
    own.on("error", () => {});
    try {
      await own.query(createTable());
      const other = postgresNode(own, { wakeUps: false });
      expect(await other.raiseFloor({ floor: 500, epoch: 2, timeoutMs })).toEqual({ floor: 500, epoch: 2 });
      await lax.kill();
      await lax.restart();
      const read = () => other.raiseFloor({ floor: 0, epoch: 0, timeoutMs }).catch(() => undefined);
      await expect.poll(read, { timeout: timeoutMs }).toEqual({ floor: 500, epoch: 2 });
    } finally {
      await own.end();
      await lax.stop();
    }
  });

  test("raiseFloor() leaves no setting of its transaction to other sessions of PgBouncer", async () => {
    const bouncer = await startPgBouncer(server, { poolMode: "transaction", poolSize: 1 });
    const pooled = new pg.Pool({ connectionString: connectionString.replace(`:${server.port}/`, `:${bouncer.port}/`) });
    pooled.on("error", () => {});
    await postgresNode(pooled, { table, wakeUps: false }).raiseFloor({ floor: 100, epoch: 2, timeoutMs });
    const settings = "SELECT current_setting('lock_timeout') || current_setting('synchronous_commit') AS both";
    expect((await pooled.query(settings)).rows).toEqual([{ both: "0on" }]);
    await pooled.end();
    await bouncer.stop();
  });
});

describe("scan()", () => {
  test("scan() reads the highest counter of rows that deleteUnused() deletes meanwhile", async () => {
    await pool.query(`INSERT INTO "${table}" (name, until, fence)
      SELECT 'r' || n, now(), n FROM generate_series(1001, 2200) AS n`);
    await pool.query(`INSERT INTO "${table}" (name, until, fence) VALUES ('z', now() - interval '3 days', 70000)`);
    const { cursor, highest } = await node.scan({ timeoutMs });
    expect(highest).toBeLessThan(70_000);
    expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(1);
    expect((await node.scan({ timeoutMs, ...(cursor && { cursor }) })).highest).toBe(70_000);
  });

  test("scan() reads the beginning of names that are not stored whole", async () => {
    await node.acquire(claim("alice", "\ud83d\ude00".repeat(1_000)));
    const { claims } = await node.scan({ timeoutMs });
    expect(claims.map(({ resource }) => resource)).toEqual([expect.stringMatching(/^(\ud83d\ude00){77,78}\ud83d?…$/)]);
  });
});

import { EpochError } from "@holdfast/core";
import { createTable, type PostgresNode, postgresNode } from "@holdfast/postgres";
import { startPgBouncer } from "@holdfast/testkit/pgbouncer";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import postgres from "postgres";
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

async function rows(): Promise<readonly Record<string, unknown>[]> {
  return (await pool.query(`SELECT * FROM "${table}" ORDER BY name`)).rows;
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
  test("raiseFloor() keeps the highest of many values that were sent at once", async () => {
    const { floor, epoch } = { floor: 40, epoch: 8 };
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        return node.raiseFloor({ floor: (floor * (index % 5)) / 4, epoch: (epoch * ((index * 3) % 5)) / 4, timeoutMs });
      }),
    );
    for (const reply of replies) expect(reply.floor).toBeGreaterThanOrEqual(0);
    expect(await node.raiseFloor({ floor: 0, epoch: 0, timeoutMs })).toEqual({ floor, epoch });
    expect(await node.raiseFloor({ floor: 3, epoch: 9, timeoutMs })).toEqual({ floor, epoch: 9 });
  });

  test("raiseFloor() of zeros writes nothing, and reads in a table that no user may write", async () => {
    expect(await node.raiseFloor({ floor: 0, epoch: 0, timeoutMs })).toEqual({ floor: 0, epoch: 0 });
    expect(await rows()).toEqual([]);
  });

  const shapes: [string, string[], boolean][] = [
    ["one resource", ["a"], false],
    ["several resources", ["a", "b"], false],
    ["a shared resource", ["a"], true],
    ["several shared resources", ["a", "b"], true],
  ];

  test.each(shapes)(
    "acquire() of %s, new or known, is refused in another epoch, and writes nothing",
    async (...shape) => {
      const [, resources, shared] = shape;
      await node.acquire(claim("alice", "a"));
      await node.release({ resources: ["a"], owner: "alice", timeoutMs });
      await node.raiseFloor({ floor: 0, epoch: 4, timeoutMs });
      const before = await rows();
      const request = { ...claim("bob", ...resources), shared, waiter: "bob" };
      for (const epoch of [undefined, 1, 2, 6, 7]) {
        const refused = node.acquire({ ...request, ...(epoch && { epoch }) });
        await expect(refused).rejects.toThrow(EpochError);
        await expect(refused).rejects.toThrow(`epoch ${epoch ?? 1}: it is at epoch 4`);
      }
      expect(await rows()).toEqual(before);
      expect(await node.acquire({ ...request, epoch: 3 })).toMatchObject({ granted: true });
    },
  );

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
    expect(await node.acquire(claim("carol", "c", "\tfloor", "\tepoch"))).toEqual({ granted: true, fence: 501 });
    expect((await node.inspect("\tfloor")).owner).toBe("carol");
  });

  test("acquire() rejects if the floor uses up the fence counter, and changes nothing", async () => {
    await node.raiseFloor({ floor: Number.MAX_SAFE_INTEGER, epoch: 0, timeoutMs });
    for (const resources of [["a"], ["a", "b"]])
      await expect(node.acquire(claim("bob", ...resources))).rejects.toThrow("is used up");
    expect((await node.scan({ timeoutMs })).claims).toEqual([]);
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

  test("raiseFloor() and scan() work over postgres.js, and through PgBouncer in transaction mode", async () => {
    const bouncer = await startPgBouncer(server, { poolMode: "transaction", poolSize: 5 });
    const through = connectionString.replace(`:${server.port}/`, `:${bouncer.port}/`);
    const pooled = new pg.Pool({ connectionString: through });
    pooled.on("error", () => {});
    const sql = postgres(connectionString, { onnotice: () => {} });
    let floor = 0;
    for (const client of [sql, pooled]) {
      const other = postgresNode(client, { table, wakeUps: false });
      floor += 100;
      expect(await other.raiseFloor({ floor, epoch: 2, timeoutMs })).toEqual({ floor, epoch: 2 });
      expect(await other.acquire(claim("alice", `r${floor}`))).toEqual({ granted: true, fence: floor + 1 });
      expect(await other.scan({ timeoutMs })).toMatchObject({ counters: floor / 100, highest: floor + 1 });
      // A session of the pooler keeps no setting of the transaction that raised the floor.
      const settings = "SELECT current_setting('lock_timeout') || current_setting('synchronous_commit') AS both";
      expect((await pooled.query(settings)).rows).toEqual([{ both: "0on" }]);
    }
    await sql.end({ timeout: 1 });
    await pooled.end();
    await bouncer.stop();
  });
});

describe("scan()", () => {
  /** Reads all portions. */
  async function scanAll(): Promise<{ counters: number; highest: number; names: string[]; portions: number }> {
    const all = { counters: 0, highest: 0, names: [] as string[], portions: 0 };
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const portion = await node.scan({ timeoutMs, ...(cursor !== undefined && { cursor }) });
      all.counters += portion.counters;
      all.highest = Math.max(all.highest, portion.highest);
      all.names.push(...portion.claims.map(({ resource }) => resource));
      all.portions += 1;
      cursor = portion.cursor;
    }
    return all;
  }

  test("scan() reads thousands of rows in portions, each counter and claim once", async () => {
    await pool.query(`INSERT INTO "${table}" (name, owner, until, fence)
      SELECT 'r' || n, CASE WHEN n % 2 = 0 THEN 'alice' END, now() + interval '1 hour', n FROM generate_series(1, 2500) AS n`);
    await node.raiseFloor({ floor: 9_000, epoch: 2, timeoutMs });
    const { counters, highest, names, portions } = await scanAll();
    expect({ counters, highest, portions }).toEqual({ counters: 2_500, highest: 2_500, portions: 3 });
    expect(new Set(names).size).toBe(1_250);
    expect(names).toHaveLength(1_250);
  });

  test("scan() reads the highest counter of rows that deleteUnused() deletes meanwhile", async () => {
    await pool.query(`INSERT INTO "${table}" (name, until, fence)
      SELECT 'r' || n, now(), n FROM generate_series(1001, 2200) AS n`);
    await pool.query(`INSERT INTO "${table}" (name, until, fence) VALUES ('z', now() - interval '3 days', 70000)`);
    const { cursor, highest } = await node.scan({ timeoutMs });
    expect(highest).toBeLessThan(70_000);
    expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(1);
    expect((await node.scan({ timeoutMs, ...(cursor && { cursor }) })).highest).toBe(70_000);
  });

  test("scan() reads sharers, names of all characters, and the beginning of names that are not stored whole", async () => {
    const long = "\ud83d\ude00".repeat(1_000);
    for (const name of ["é\t\\", long]) await node.acquire(claim("alice", name));
    for (const owner of ["bob", "carol"]) await node.acquire({ ...claim(owner, "shared"), shared: true });
    await node.acquire({ ...claim("dave", "ended"), ttlMs: 1 });
    await expect.poll(async () => (await node.inspect("ended")).owner).toBeNull();
    const { counters, claims } = await node.scan({ timeoutMs });
    expect(counters).toBe(4);
    const found = claims.map(({ resource, owner }) => `${resource} ${owner}`).sort();
    expect(found).toHaveLength(4);
    expect(found.slice(0, 3)).toEqual(["shared bob", "shared carol", "é\t\\ alice"]);
    expect(found[3]).toMatch(/^(\ud83d\ude00){77,78}\ud83d?… alice$/);
    for (const { remainingMs } of claims) {
      expect(remainingMs).toBeGreaterThan(30_000);
      expect(remainingMs).toBeLessThanOrEqual(60_000);
    }
  });

  test.each(["", "r1", "7"])("scan() rejects the cursor %j, which it did not make", async (cursor) => {
    await expect(node.scan({ cursor, timeoutMs })).rejects.toThrow(RangeError);
  });
});

test("a table that an older statement has created needs no change", async () => {
  const older = `CREATE TABLE "older" (name text COLLATE "C" PRIMARY KEY, owner text COLLATE "C", until timestamptz NOT NULL,
    fence bigint NOT NULL CHECK (fence BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}), waiters text[] COLLATE "C",
    waiting_until timestamptz, watched_until timestamptz, sharers jsonb, sharers_denied_until timestamptz
  ) WITH (fillfactor = 70)`;
  await pool.query(older);
  await pool.query(createTable({ table: "older" }));
  const old = postgresNode(pool, { table: "older", wakeUps: false });
  expect(await old.raiseFloor({ floor: 7, epoch: 2, timeoutMs })).toEqual({ floor: 7, epoch: 2 });
  expect(await old.acquire(claim("alice", "a"))).toEqual({ granted: true, fence: 8 });
});

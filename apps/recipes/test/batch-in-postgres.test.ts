import { Redlock } from "@holdfast/core";
import { createTable, type PostgresNode, postgresNode } from "@holdfast/postgres";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { runBatch } from "../src/batch-in-postgres.ts";

const server = await startPostgresServer();
afterAll(() => server.stop());
const ttlMs = 60_000;

interface Worker {
  readonly node: PostgresNode;
  readonly pool: pg.Pool;
  readonly redlock: Redlock;
}

beforeEach(async () => {
  const { pool } = openWorker();
  await pool.query(createTable());
  await pool.query("DROP TABLE IF EXISTS items");
  await pool.query("CREATE TABLE items (id int PRIMARY KEY, done_by text, times int NOT NULL DEFAULT 0)");
  await pool.query("INSERT INTO items SELECT generate_series(1, 20)");
});

/** Opens clients as one process would, until the end of the test. */
function openWorker(): Worker {
  const pool = new pg.Pool({ connectionString: server.connectionString });
  pool.on("error", () => {});
  const node = postgresNode(pool);
  const redlock = new Redlock([node], { ttlMs, nodeTimeoutMs: 10_000 }); // a busy machine replies late
  onTestFinished(async () => {
    await redlock.close();
    await pool.end();
  });
  return { node, pool, redlock };
}

/** Works on the next three items, and does not care whether somebody else does as well. */
async function workOnThree(client: pg.PoolClient, worker: string, between = async () => {}): Promise<boolean> {
  const { rows } = await client.query("SELECT id, times FROM items WHERE done_by IS NULL ORDER BY id LIMIT 3");
  await between();
  for (const { id, times } of rows)
    await client.query("UPDATE items SET done_by = $1, times = $2 WHERE id = $3", [worker, times + 1, id]);
  return rows.length > 0;
}

async function timesOf({ pool }: Worker): Promise<number[]> {
  return (await pool.query("SELECT times FROM items ORDER BY id")).rows.map(({ times }) => times);
}

test("runBatch() works on each item once, one process at a time", async () => {
  const workers = Array.from({ length: 4 }, openWorker);
  let running = 0;
  const runs = workers.map(({ redlock, node, pool }, index) =>
    runBatch(redlock, node, pool, "items", (client) =>
      workOnThree(client, `${index}`, async () => {
        expect(++running).toBe(1);
        await client.query("SELECT pg_sleep(0.01)");
        running--;
      }),
    ),
  );
  expect(await Promise.all(runs)).toEqual(["done", "done", "done", "done"]);
  expect(await timesOf(workers[0] as Worker)).toEqual(new Array(20).fill(1));
});

test("runBatch() of a process that is paused in a step commits that step before the next process begins, and no other", async () => {
  const [slow, next] = [openWorker(), openWorker()];
  let resume = (): void => {};
  let run: Promise<unknown> | undefined;
  await new Promise<void>((paused) => {
    const pause = () =>
      new Promise<void>((resolve) => {
        resume = resolve;
        paused();
      });
    run = runBatch(slow.redlock, slow.node, slow.pool, "items", (client) => workOnThree(client, "slow", pause));
  });
  const outcome = expect(run).rejects.toThrow(/is gone|lost/);
  await next.pool.query("UPDATE holdfast_locks SET until = clock_timestamp()"); // the ttl has passed
  expect(await new Redlock([next.node], { nodeTimeoutMs: 200 }).tryAcquire("batch:items")).toBeNull();
  const batch = runBatch(next.redlock, next.node, next.pool, "items", (client) => workOnThree(client, "next"));
  resume();
  expect(await batch).toBe("done");
  await outcome;
  const { rows } = await next.pool.query("SELECT done_by, count(*)::int FROM items GROUP BY done_by ORDER BY done_by");
  expect(rows).toEqual([
    { done_by: "next", count: 17 },
    { done_by: "slow", count: 3 },
  ]);
  expect(await timesOf(next)).toEqual(new Array(20).fill(1));
});

test("runBatch() undoes a step that fails, and rejects if a statement of it had failed", async () => {
  const { redlock, node, pool } = openWorker();
  const failing = runBatch(redlock, node, pool, "items", async (client) => {
    await workOnThree(client, "failing");
    throw new RangeError("no");
  });
  await expect(failing).rejects.toThrow(RangeError);
  const broken = runBatch(redlock, node, pool, "items", async (client) => {
    await client.query("SELECT 1 / 0").catch(() => {});
    return true;
  });
  await expect(broken).rejects.toThrow("the transaction was rolled back");
  expect(await timesOf({ redlock, node, pool })).toEqual(new Array(20).fill(0));
});

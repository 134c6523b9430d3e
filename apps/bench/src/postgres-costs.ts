/** `pnpm --filter @holdfast/bench postgres-costs`: what guarded tables cost, and a name that is locked all the time. */

import { createGuard, createTable, fenced, postgresNode } from "@holdfast/postgres";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { quartilesOf } from "./measure/statistics.ts";

const cleanup = createCleanup();
try {
  await measureGuards(true);
  await measureGuards(false);
  await measurePairs();
} finally {
  await cleanup.run();
}

/** Starts a server, whose commits are synced to the disk or not, and connects to it. */
async function start(isSynced: boolean): Promise<{ client: pg.Client; connectionString: string }> {
  const settings = { synchronous_commit: isSynced ? "on" : "off" };
  const { connectionString, stop } = await startPostgresServer({ fsync: isSynced, settings });
  cleanup.defer(stop);
  const client = new pg.Client(connectionString);
  client.on("error", () => {});
  await client.connect();
  cleanup.defer(() => client.end());
  return { client, connectionString };
}

/** Measures transactions on a table without a guard and on guarded ones, alternately. */
async function measureGuards(isSynced: boolean): Promise<void> {
  const { client } = await start(isSynced);
  const rules = { none: undefined, column: "lock", expression: "'account:' || owner" };
  for (const [rule, value] of Object.entries(rules)) {
    await client.query(`CREATE TABLE by_${rule} (id int PRIMARY KEY, lock text, owner int, balance int) WITH (fillfactor = 50);
      INSERT INTO by_${rule} SELECT id, 'account:1', 1, 0 FROM generate_series(1, 10000) AS id`);
    if (value) await client.query(createGuard({ tables: [{ table: `by_${rule}`, [rule]: value }] }));
  }
  const ranges = { "1 row": 1, "100 rows": 100, "10,000 rows": 10_000 };
  for (const [range, rows] of Object.entries(ranges)) {
    const times = await inTurns(Object.keys(rules), async (rule) => {
      const transactions = Math.ceil(200 / rows);
      const startMs = performance.now();
      for (let n = 0; n < transactions; n++) {
        await client.query("BEGIN");
        await fenced(client, { resources: ["account:1"], fence: 1 });
        const text = `UPDATE by_${rule} SET balance = balance + 1 WHERE id BETWEEN $1::int AND $1::int + $2::int - 1`;
        await client.query({ name: `update ${rule}`, text, values: [rows === 1 ? n + 1 : 1, rows] });
        await client.query("COMMIT");
      }
      return (performance.now() - startMs) / transactions;
    });
    report(`a transaction of ${range}, ${isSynced ? "synced" : "not synced"}`, times, "none");
  }
}

/** Measures pairs of acquire and release on one name: with names for the statements, and while another transaction is open. */
async function measurePairs(): Promise<void> {
  const { client, connectionString } = await start(false);
  await client.query(createTable());
  const pool = new pg.Pool({ connectionString, max: 1 });
  const unnamed = new pg.Pool({ connectionString, max: 1 });
  for (const each of [pool, unnamed]) {
    each.on("error", () => {}); // the server stops
    cleanup.defer(() => each.end());
  }
  unnamed.on("connect", (connection) => {
    const query = connection.query.bind(connection) as (config: object, ...rest: unknown[]) => unknown;
    Object.assign(connection, { query: (config: object, ...rest: unknown[]) => query(withoutName(config), ...rest) });
  });
  const pairs = pairsOver(pool);
  const clients = { prepared: pairs, "not prepared": pairsOver(unnamed) };
  const title = "a pair of acquire and release on one name, not synced";
  const alternately = await inTurns(Object.keys(clients), (name) => clients[name as keyof typeof clients](200));
  report(title, alternately, "not prepared");

  const times: Times = new Map();
  for (let round = 0; round < 3; round++) {
    await pairs(200);
    record(times, "no other transaction", await pairs(300));
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await client.query("SELECT FROM holdfast_locks");
    for (const [before, after] of [
      [0, 1_000],
      [1_000, 2_000],
      [2_000, 4_000],
      [4_000, 8_000],
    ] as const) {
      await pairs(after - before - 300);
      await pool.query("ANALYZE holdfast_locks"); // as autovacuum does every minute
      await pairs(100);
      record(times, `one that is open for ${after} pairs`, await pairs(200));
    }
    await client.query("COMMIT");
    await client.query("VACUUM holdfast_locks");
  }
  report(title, times, "no other transaction");
}

function withoutName(config: object): object {
  return "text" in config ? { ...config, name: undefined } : config;
}

/** Returns a function that locks a name and releases it, this often, and resolves with the time of each pair. */
function pairsOver(pool: pg.Pool): (count: number) => Promise<number> {
  const node = postgresNode(pool, { wakeUps: false });
  const resources = ["hot"];
  return async (count) => {
    const startMs = performance.now();
    for (let n = 0; n < count; n++) {
      const claim = { resources, owner: crypto.randomUUID(), timeoutMs: 10_000 };
      await node.acquire({ ...claim, ttlMs: 10_000, fenceHint: 1 });
      await node.release(claim);
    }
    return (performance.now() - startMs) / count;
  };
}

type Times = Map<string, number[]>;

function record(times: Times, name: string, time: number): void {
  times.set(name, [...(times.get(name) ?? []), time]);
}

/** Runs each contender in each of several rounds, after one to warm up. */
async function inTurns(names: readonly string[], run: (name: string) => Promise<number>): Promise<Times> {
  const times: Times = new Map();
  for (let round = 0; round < 16; round++) {
    for (const name of names) {
      const time = await run(name);
      if (round > 0) record(times, name, time);
    }
  }
  return times;
}

function report(title: string, times: Times, base: string): void {
  console.log(`\n${title}`);
  const baseMs = quartilesOf(times.get(base) ?? []).median;
  for (const [name, list] of times) {
    const { low, median, high } = quartilesOf(list);
    const range = `${median.toFixed(2)} ms (${low.toFixed(2)} – ${high.toFixed(2)})`;
    console.log(`  ${name.padEnd(30)} ${range.padEnd(28)} × ${(median / baseMs).toFixed(2)}`);
  }
}

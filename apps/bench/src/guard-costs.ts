/** `pnpm --filter @holdfast/bench guard-costs`: what guarded tables cost in PostgreSQL, and in MariaDB or MySQL. */

import * as mysqlGuard from "@holdfast/mysql";
import * as postgresGuard from "@holdfast/postgres";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { startMysqlServer } from "@holdfast/testkit/mysql-server";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import mysql from "mysql2/promise";
import pg from "pg";
import { quartilesOf } from "./measure/statistics.ts";

const rowsMax = 10_000;
const lock = { resources: ["account:1"], fence: 1 };

/** How the lock of a row is found, by the name of the rule. */
type Rules = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A database with a table of `rowsMax` rows for each rule, guarded by it, and one that is not guarded. */
interface Guarded {
  readonly name: string;
  readonly rules: readonly string[];
  /** Adds to the balance of so many rows, from this one on, in a transaction that states the token. */
  add(rule: string, first: number, count: number): Promise<void>;
}

const cleanup = createCleanup();
try {
  for (const open of [openPostgres, openMysql]) {
    for (const isSynced of [true, false]) await measure(await open(isSynced), isSynced);
  }
} finally {
  await cleanup.run();
}

/** Measures transactions on the tables, alternately, after a round to warm up. */
async function measure({ name, rules, add }: Guarded, isSynced: boolean): Promise<void> {
  for (const rows of [1, 100, rowsMax]) {
    const times = new Map<string, number[]>();
    for (let round = 0; round < 16; round++) {
      for (const rule of rules) {
        const transactions = Math.ceil(200 / rows);
        const startMs = performance.now();
        for (let n = 0; n < transactions; n++) await add(rule, rows === 1 ? n + 1 : 1, rows);
        const tookMs = (performance.now() - startMs) / transactions;
        if (round > 0) times.set(rule, [...(times.get(rule) ?? []), tookMs]);
      }
    }
    console.log(`${name}: a transaction of ${rows} rows, ${isSynced ? "synced" : "not synced"}; ms`);
    const none = quartilesOf(times.get("none") ?? []).median;
    const figures = [...times].map(([rule, list]) => {
      const quartiles = quartilesOf(list);
      return [rule, { ...quartiles, ratio: quartiles.median / none }] as const;
    });
    console.table(Object.fromEntries(figures));
  }
}

async function openPostgres(isSynced: boolean): Promise<Guarded> {
  const settings = { synchronous_commit: isSynced ? "on" : "off" };
  const { connectionString, stop } = await startPostgresServer({ fsync: isSynced, settings });
  cleanup.defer(stop);
  const client = new pg.Client(connectionString);
  client.on("error", () => {});
  await client.connect();
  cleanup.defer(() => client.end());
  const rules: Rules = { none: {}, column: { column: "lock" }, expression: { expression: "'account:' || owner" } };
  for (const [rule, options] of Object.entries(rules)) {
    const table = `by_${rule}`;
    await client.query(`CREATE TABLE ${table} (id int PRIMARY KEY, lock text, owner int, balance int) WITH (fillfactor = 50);
      INSERT INTO ${table} SELECT id, 'account:1', 1, 0 FROM generate_series(1, ${rowsMax}) AS id`);
    if (rule !== "none") await client.query(postgresGuard.createGuard({ tables: [{ table, ...options }] }));
  }
  return {
    name: "PostgreSQL",
    rules: Object.keys(rules),
    async add(rule, first, count) {
      await client.query("BEGIN");
      await postgresGuard.fenced(client, lock);
      const text = `UPDATE by_${rule} SET balance = balance + 1 WHERE id BETWEEN $1::int AND $1::int + $2::int - 1`;
      await client.query({ name: `update ${rule}`, text, values: [first, count] });
      await client.query("COMMIT");
    },
  };
}

async function openMysql(isSynced: boolean): Promise<Guarded> {
  const { uri, stop } = await startMysqlServer({ settings: { innodb_flush_log_at_trx_commit: isSynced ? 1 : 0 } });
  cleanup.defer(stop);
  const client = await mysql.createConnection(uri);
  client.on("error", () => {});
  cleanup.defer(() => client.end());
  const [[version]] = await client.query<mysql.RowDataPacket[]>("SELECT VERSION() AS it");
  const rules: Rules = {
    none: {},
    column: { column: "lock_name" },
    expression: { expression: "CONCAT('account:', {row}.owner)" },
  };
  const values = Array.from({ length: rowsMax }, (_, index) => [index + 1, "account:1", 1, 0]);
  for (const [rule, options] of Object.entries(rules)) {
    const table = `by_${rule}`;
    await client.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, lock_name VARCHAR(100), owner INT, balance INT)`);
    await client.query(`INSERT INTO ${table} VALUES ?`, [values]);
    const statements = rule === "none" ? [] : mysqlGuard.createGuard({ tables: [{ table, ...options }] });
    for (const statement of statements) await client.query(statement);
  }
  return {
    name: String(version?.it).includes("MariaDB") ? "MariaDB" : "MySQL",
    rules: Object.keys(rules),
    async add(rule, first, count) {
      await client.query("START TRANSACTION");
      await mysqlGuard.fenced(client, lock, () =>
        client.execute(`UPDATE by_${rule} SET balance = balance + 1 WHERE id BETWEEN ? AND ?`, [
          first,
          first + count - 1,
        ]),
      );
      await client.query("COMMIT");
    },
  };
}

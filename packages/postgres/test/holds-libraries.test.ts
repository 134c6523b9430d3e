import { type Lock, Redlock } from "@holdfast/core";
import { type PostgresNode, postgresNode, type RunStatement } from "@holdfast/postgres";
import knex from "knex";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import postgres from "postgres";
import { DataSource } from "typeorm";
import { expect, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const { connectionString } = await serverOfFile();

/** Loads a module without its types: those of Drizzle do not compile with the settings of this repository. */
const load = (name: string) => import(name);
const { sql } = await load("drizzle-orm");
const { drizzle: overPg } = await load("drizzle-orm/node-postgres");
const { drizzle: overPostgresJs } = await load("drizzle-orm/postgres-js");

/** The database, or a transaction, of Drizzle. */
interface Executor<Result> {
  execute(statement: unknown): Promise<Result>;
}

/** Its last connections may still be closing when the server of this file stops. */
function openPool(): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2 });
  pool.on("error", () => {});
  return pool;
}

/** A library: calls `holds` in a transaction, and with what runs statements outside of one. Both as the README shows. */
interface Library {
  inTransaction(holds: PostgresNode["holds"], lock: Lock): Promise<boolean>;
  outside(holds: PostgresNode["holds"], lock: Lock): Promise<boolean>;
  end(): Promise<unknown>;
}

/** Returns a statement for Drizzle, which has no function for one with placeholders. */
const statement = (...[text, values]: Parameters<RunStatement>) =>
  sql.join(text.split(/\$(\d)/).map((part, index) => (index % 2 ? sql`${values[Number(part) - 1]}` : sql.raw(part))));

const libraries: Record<string, () => Promise<Library>> = {
  async Kysely() {
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: openPool() }) });
    const over =
      (trx: Kysely<unknown>): RunStatement =>
      (text, values) =>
        trx.executeQuery(CompiledQuery.raw(text, values)).then(({ rows }) => rows);
    return {
      inTransaction: (holds, lock) => db.transaction().execute((trx) => holds(over(trx), lock)),
      outside: (holds, lock) => holds(over(db), lock),
      end: () => db.destroy(),
    };
  },
  async Knex() {
    const db = knex({ client: "pg", connection: connectionString });
    return {
      inTransaction: (holds, lock) => db.transaction(async (trx) => holds(await trx.client.acquireConnection(), lock)),
      outside: async (holds, lock) => {
        const connection = await db.client.acquireConnection();
        return holds(connection, lock).finally(() => db.client.releaseConnection(connection));
      },
      end: () => db.destroy(),
    };
  },
  async "Drizzle over pg"() {
    const pool = openPool();
    const db = overPg(pool);
    const over =
      (tx: Executor<{ rows: unknown[] }>): RunStatement =>
      (text, values) =>
        tx.execute(statement(text, values)).then(({ rows }) => rows);
    return {
      inTransaction: (holds, lock) => db.transaction((tx: Executor<{ rows: unknown[] }>) => holds(over(tx), lock)),
      outside: (holds, lock) => holds(over(db), lock),
      end: () => pool.end(),
    };
  },
  async "Drizzle over postgres.js"() {
    const client = postgres(connectionString);
    const db = overPostgresJs(client);
    const over =
      (tx: Executor<unknown[]>): RunStatement =>
      (text, values) =>
        tx.execute(statement(text, values));
    return {
      inTransaction: (holds, lock) => db.transaction((tx: Executor<unknown[]>) => holds(over(tx), lock)),
      outside: (holds, lock) => holds(over(db), lock),
      end: () => client.end(),
    };
  },
  async TypeORM() {
    const source = await new DataSource({ type: "postgres", url: connectionString }).initialize();
    return {
      inTransaction: (holds, lock) =>
        source.transaction((manager) => holds((text, values) => manager.query(text, values), lock)),
      outside: (holds, lock) => holds((text, values) => source.query(text, values), lock),
      end: () => source.destroy(),
    };
  },
};

test.each(Object.entries(libraries))(
  "holds() works in a transaction of %s, and is refused outside of one",
  async (_, open) => {
    const pool = openPool();
    const node = postgresNode(pool, { table: await freshTable(connectionString), wakeUps: false });
    const redlock = new Redlock([node]);
    const lock = await redlock.acquire(["invoice:41", "prüfer 🔒"], { ttlMs: 60_000 });
    const library = await open();
    try {
      expect(await library.inTransaction(node.holds, lock)).toBe(true);
      await expect(library.outside(node.holds, lock)).rejects.toThrow(
        "not a client without a transaction: run BEGIN first",
      );
      await lock.release();
      expect(await library.inTransaction(node.holds, lock)).toBe(false);
    } finally {
      await library.end();
      await redlock.close();
      await pool.end();
    }
  },
);

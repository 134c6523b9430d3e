import type { RunStatement } from "@holdfast/postgres";
import knex from "knex";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import postgres from "postgres";
import { DataSource } from "typeorm";
import { test } from "vitest";
import { expectHolds, type Library, openPool } from "./holds-in-library.ts";
import { serverOfFile } from "./servers.ts";

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

/** Returns a statement for Drizzle, which has no function for one with placeholders. */
const statement = (...[text, values]: Parameters<RunStatement>) =>
  sql.join(text.split(/\$(\d)/).map((part, index) => (index % 2 ? sql`${values[Number(part) - 1]}` : sql.raw(part))));

const libraries: Record<string, () => Promise<Library>> = {
  async Kysely() {
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: openPool(connectionString) }) });
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
    const pool = openPool(connectionString);
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
  async (_, open) => expectHolds(await open(), connectionString),
);

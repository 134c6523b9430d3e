import type { RunStatement } from "@holdfast/postgres";
import knex from "knex";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import postgres from "postgres";
import { DataSource } from "typeorm";
import { type Library, openPool } from "./holds-in-library.ts";

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

/** Opens each library as the README shows its transactions. */
export const libraries: Readonly<Record<string, (connectionString: string) => Promise<Library>>> = {
  async Kysely(connectionString) {
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: openPool(connectionString) }) });
    const over =
      (trx: Kysely<unknown>): RunStatement =>
      (text, values) =>
        trx.executeQuery(CompiledQuery.raw(text, values)).then(({ rows }) => rows);
    return {
      inTransaction: (call, lock) => db.transaction().execute((trx) => call(over(trx), lock)),
      outside: (call, lock) => call(over(db), lock),
      end: () => db.destroy(),
    };
  },
  async Knex(connectionString) {
    const db = knex({ client: "pg", connection: connectionString });
    return {
      inTransaction: (call, lock) => db.transaction(async (trx) => call(await trx.client.acquireConnection(), lock)),
      outside: async (call, lock) => {
        const connection = await db.client.acquireConnection();
        return call(connection, lock).finally(() => db.client.releaseConnection(connection));
      },
      end: () => db.destroy(),
    };
  },
  async "Drizzle over pg"(connectionString) {
    const pool = openPool(connectionString);
    const db = overPg(pool);
    const over =
      (tx: Executor<{ rows: unknown[] }>): RunStatement =>
      (text, values) =>
        tx.execute(statement(text, values)).then(({ rows }) => rows);
    return {
      inTransaction: (call, lock) => db.transaction((tx: Executor<{ rows: unknown[] }>) => call(over(tx), lock)),
      outside: (call, lock) => call(over(db), lock),
      end: () => pool.end(),
    };
  },
  async "Drizzle over postgres.js"(connectionString) {
    const client = postgres(connectionString);
    const db = overPostgresJs(client);
    const over =
      (tx: Executor<unknown[]>): RunStatement =>
      (text, values) =>
        tx.execute(statement(text, values));
    return {
      inTransaction: (call, lock) => db.transaction((tx: Executor<unknown[]>) => call(over(tx), lock)),
      outside: (call, lock) => call(over(db), lock),
      end: () => client.end(),
    };
  },
  async TypeORM(connectionString) {
    const source = await new DataSource({ type: "postgres", url: connectionString }).initialize();
    return {
      inTransaction: (call, lock) =>
        source.transaction((manager) => call((text, values) => manager.query(text, values), lock)),
      outside: (call, lock) => call((text, values) => source.query(text, values), lock),
      end: () => source.destroy(),
    };
  },
};

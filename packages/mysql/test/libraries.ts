import type { Lock } from "@holdfast/core";
import type { RunStatement, Transaction } from "@holdfast/mysql";
import knex, { type Knex } from "knex";
import { CompiledQuery, Kysely, MysqlDialect } from "kysely";
import mysql from "mysql2";
import { DataSource } from "typeorm";

/** What a test runs in a transaction: it gets the transaction, and runs a statement of its own in it. */
export type Step<Result> = (
  transaction: Transaction,
  run: (text: string) => PromiseLike<unknown>,
  lock: Lock,
) => Promise<Result>;

/** A library: runs a step in a transaction, and with what runs statements outside of one. Both as the README shows. */
export interface Library {
  inTransaction<Result>(step: Step<Result>, lock: Lock): Promise<Result>;
  outside<Result>(step: Step<Result>, lock: Lock): Promise<Result>;
  end(): Promise<unknown>;
}

/** Loads a module without its types: those of Drizzle do not compile with the settings of this repository. */
const load = (name: string) => import(name);
const { sql } = await load("drizzle-orm");
const { drizzle } = await load("drizzle-orm/mysql2");

const openPool = (uri: string) => mysql.createPool({ uri, connectionLimit: 2 });

/** Opens each library as the README shows its transactions. */
export const libraries: Readonly<Record<string, (uri: string) => Promise<Library>>> = {
  async Kysely(uri) {
    const db = new Kysely<unknown>({ dialect: new MysqlDialect({ pool: openPool(uri) }) });
    const over =
      (trx: Kysely<unknown>): RunStatement =>
      (text) =>
        trx.executeQuery(CompiledQuery.raw(text)).then(({ rows }) => rows);
    return {
      inTransaction: (step, lock) => db.transaction().execute((trx) => step(over(trx), over(trx), lock)),
      outside: (step, lock) => step(over(db), over(db), lock),
      end: () => db.destroy(),
    };
  },
  async Knex(uri) {
    const db = knex({ client: "mysql2", connection: uri });
    const over =
      (trx: Knex): RunStatement =>
      (text) =>
        trx.raw(text).then(([rows]) => rows);
    return {
      inTransaction: (step, lock) => db.transaction((trx) => step(over(trx), over(trx), lock)),
      outside: (step, lock) => step(over(db), over(db), lock),
      end: () => db.destroy(),
    };
  },
  async Drizzle(uri) {
    const pool = openPool(uri);
    const db = drizzle(pool);
    const over =
      (tx: { execute(statement: unknown): Promise<[readonly unknown[]]> }): RunStatement =>
      (text) =>
        tx.execute(sql.raw(text)).then(([rows]) => rows);
    return {
      inTransaction: (step, lock) => db.transaction((tx: typeof db) => step(over(tx), over(tx), lock)),
      outside: (step, lock) => step(over(db), over(db), lock),
      end: () => pool.promise().end(),
    };
  },
  async TypeORM(uri) {
    const source = await new DataSource({ type: "mysql", url: uri }).initialize();
    const over =
      (manager: { query(text: string): Promise<readonly unknown[]> }): RunStatement =>
      (text) =>
        manager.query(text);
    return {
      inTransaction: (step, lock) => source.transaction((manager) => step(over(manager), over(manager), lock)),
      outside: (step, lock) => step(over(source), over(source), lock),
      end: () => source.destroy(),
    };
  },
};

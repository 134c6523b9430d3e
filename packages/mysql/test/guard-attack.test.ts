import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { createGuard, fenced, registerRead, removeGuard, type Transaction } from "@holdfast/mysql";
import { type Client, testGuardUnderAttack } from "@holdfast/testkit/guard-attack";
import mysqlWithCallbacks from "mysql2";
import mysql from "mysql2/promise";
import { afterAll } from "vitest";
import { serverOfFile } from "./servers.ts";

const { uri } = await serverOfFile();
const admin = await mysql.createConnection(uri);
const redlock = new Redlock([memoryNode()]);
afterAll(async () => {
  await redlock.close();
  await admin.end();
});

/** Opens a pool of few connections, which clients share, at an isolation level, and the ways to hand over its transactions. */
function clientsAt(level: string): { clients: Client<Transaction>[]; end(): Promise<void> } {
  const pool = mysqlWithCallbacks.createPool({ uri, connectionLimit: 3 });
  pool.on("connection", (connection) => connection.query(`SET SESSION TRANSACTION ISOLATION LEVEL ${level}`));
  type Run = (text: string) => Promise<mysql.RowDataPacket[]>;
  const over =
    (given: (connection: mysqlWithCallbacks.PoolConnection, run: Run) => Transaction): Client<Transaction> =>
    async (step) => {
      const connection = await new Promise<mysqlWithCallbacks.PoolConnection>((resolve, reject) => {
        pool.getConnection((error, opened) => (error ? reject(error) : resolve(opened)));
      });
      const query = connection.promise();
      const run: Run = async (text) => (await query.query<mysql.RowDataPacket[]>(text))[0];
      try {
        await query.beginTransaction();
        const result = await step(run, given(connection, run));
        await query.commit();
        return result;
      } catch (error) {
        await query.rollback();
        throw error;
      } finally {
        connection.release();
      }
    };
  const clients = [over((connection) => connection), over((connection) => connection.promise()), over((_, run) => run)];
  return { clients, end: () => pool.promise().end() };
}

testGuardUnderAttack<Transaction>({
  query: async (text) => (await admin.query<mysql.RowDataPacket[]>(text))[0],
  async guard(isGuarded) {
    const guard = createGuard({ tables: [{ table: "accounts", column: "lock_name" }] });
    const removal = isGuarded ? [] : removeGuard({ tables: [{ table: "accounts" }] });
    for (const statement of [...guard, ...removal]) await admin.query(statement);
  },
  async openClients() {
    const opened = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].map(clientsAt);
    return {
      clients: opened.flatMap(({ clients }) => clients),
      end: () => Promise.all(opened.map(({ end }) => end())),
    };
  },
  registerRead,
  ways: {
    fenced: (_, transaction, held, work) => fenced(transaction, held, work),
    async "plain SQL"(run, _, { resources: [name], fence }, work) {
      await run(`SET @holdfast_fence = '{"${name}": ${fence}}'`);
      await work().finally(() => run("SET @holdfast_fence = NULL"));
    },
  },
  // MariaDB 11 rejects a locking read of what has changed since the snapshot by error 1020.
  stateOf: (error) => {
    const { errno, sqlState } = Object(error);
    return errno === 1020 ? "40001" : String(sqlState);
  },
  redlock,
});

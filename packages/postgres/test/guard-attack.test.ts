import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { createGuard, fenced, registerRead, removeGuard, type Transaction } from "@holdfast/postgres";
import { type Client, testGuardUnderAttack } from "@holdfast/testkit/guard-attack";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import postgres from "postgres";
import { afterAll } from "vitest";
import { runIn, stateOf } from "../src/transaction.ts";
import { openPool } from "./holds-in-library.ts";
import { libraries } from "./libraries.ts";
import { inTransactionOf } from "./servers.ts";

// The server ends a deadlock between an older and a newer holder at once.
const { connectionString, stop } = await startPostgresServer({ settings: { deadlock_timeout: "10ms" } });
const admin = openPool(connectionString);
const redlock = new Redlock([memoryNode()]);
afterAll(async () => {
  await redlock.close();
  await admin.end();
  await stop();
});

const run = (transaction: Transaction, text: string) => runIn(transaction, { name: "", text }, []);

/** A client that runs its statements in the transaction. */
const clientOf =
  (
    inTransaction: <Result>(step: (transaction: Transaction) => Promise<Result>) => Promise<Result>,
  ): Client<Transaction> =>
  (step) =>
    inTransaction((transaction) => step((text) => run(transaction, text), transaction));

/** Opens the clients: libraries, and the drivers by themselves. */
async function openClients() {
  const over = (level: string) => `${connectionString}?options=-c%20default_transaction_isolation%3D${level}`;
  const pool = new pg.Pool({ connectionString: over("repeatable%5C%20read"), max: 3 });
  const sql = postgres(over("serializable"), { max: 3, fetch_types: false, onnotice() {} });
  const opened = await Promise.all(Object.values(libraries).map((open) => open(connectionString)));
  const clients = [
    ...opened.map((library) => clientOf((step) => library.inTransaction(step, {} as never))),
    clientOf((step) => sql.begin(step as never) as never),
    clientOf((step) => inTransactionOf(pool, step)),
  ];
  return { clients, end: () => Promise.all([...opened.map((library) => library.end()), pool.end(), sql.end()]) };
}

testGuardUnderAttack<Transaction>({
  query: async (text) => (await admin.query(text)).rows,
  async guard(isGuarded) {
    const tables = [{ table: "accounts", column: "lock_name" }];
    await admin.query(createGuard({ tables }));
    if (!isGuarded) await admin.query(removeGuard({ tables }));
  },
  openClients,
  registerRead,
  ways: {
    async fenced(_, transaction, held, work) {
      await fenced(transaction, held);
      await work();
    },
    async "plain SQL"(state, _, { resources: [name], fence }, work) {
      await state(`SET LOCAL holdfast.fence = '{"${name}": ${fence}}'`);
      await work();
    },
  },
  stateOf,
  redlock,
});

import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import type { Accounts } from "../accounts.ts";
import { openDatabase, readBalance, transaction, writeBalance } from "./fenced-rows.ts";

/** Returns the path of a file in a new folder, which is removed when this process ends. */
export async function start(): Promise<string> {
  return join(await reapedDirectory(), "accounts.db");
}

/** Opens accounts in a SQLite file. */
export async function open(path: string): Promise<Accounts> {
  const database = await openDatabase(path);
  const run = (sql: string, ...values: (string | number)[]): Promise<void> =>
    transaction(database, () => void database.prepare(sql).run(...values));
  return {
    create: (id, balance) => run("INSERT INTO accounts (id, balance) VALUES (?, ?)", id, balance),
    async read(id, fence) {
      if (fence !== undefined) return readBalance(database, id, fence);
      const row = database.prepare("SELECT balance FROM accounts WHERE id = ?").get(id);
      return (row as { balance: number }).balance;
    },
    write: (id, balance, fence) =>
      fence === undefined
        ? run("UPDATE accounts SET balance = ? WHERE id = ?", balance, id)
        : writeBalance(database, id, balance, fence),
    async close() {
      database.close();
    },
  };
}

import { setTimeout } from "node:timers/promises";
import { StaleFenceError } from "@holdfast/redis";
import Database from "libsql";

/** Each row remembers the newest token that it was shown. */
const schema = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS accounts (
    id TEXT PRIMARY KEY,
    balance INTEGER NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0
  ) STRICT;
`;

/** Opens a file that several processes share, and creates it if there is none. */
export async function openDatabase(path: string): Promise<Database.Database> {
  const database = new Database(path);
  await whenFree(() => database.exec(schema));
  return database;
}

/** Reads a balance. From then on, the row refuses older tokens. */
export function readBalance(database: Database.Database, id: string, fence: number): Promise<number> {
  return transaction(database, () => {
    const { balance } = touch(database, "read", id, fence);
    return balance;
  });
}

/** Writes a balance, unless the row was shown a newer token. */
export function writeBalance(database: Database.Database, id: string, balance: number, fence: number): Promise<void> {
  return transaction(database, () => {
    touch(database, "write", id, fence);
    database.prepare("UPDATE accounts SET balance = ? WHERE id = ?").run(balance, id);
  });
}

/** Shows the token to a row. Throws if the row was shown a newer one. */
function touch(database: Database.Database, action: "read" | "write", id: string, fence: number): Row {
  const row = database.prepare("SELECT balance, fence FROM accounts WHERE id = ?").get(id) as Row | undefined;
  if (row === undefined) throw new Error(`could not ${action} account ${id}: there is no such row`);
  if (fence < row.fence) throw new StaleFenceError(action, id, fence, row.fence);
  database.prepare("UPDATE accounts SET fence = ? WHERE id = ?").run(fence, id);
  return row;
}

interface Row {
  readonly balance: number;
  readonly fence: number;
}

/** Runs the work atomically: no other process interferes, and either all of its changes are kept or none. */
export function transaction<T>(database: Database.Database, work: () => T): Promise<T> {
  return whenFree(() => {
    database.exec("BEGIN IMMEDIATE"); // locks the file for writing now, so that what is read stays true
    try {
      const result = work();
      database.exec("COMMIT");
      return result;
    } catch (error) {
      if (database.inTransaction) database.exec("ROLLBACK");
      throw error;
    }
  });
}

/** How long to retry while another process has the file. */
const busyMs = 10_000;

/**
 * Retries while another process is writing. SQLite's own `busy_timeout` would block the event loop, and with it the timers
 * that extend a lock and detect its loss.
 */
async function whenFree<T>(attempt: () => T): Promise<T> {
  for (const endMs = performance.now() + busyMs; ; ) {
    try {
      return attempt();
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith("SQLITE_BUSY");
      if (!isBusy || performance.now() >= endMs) throw error;
    }
    await setTimeout(1 + 4 * Math.random());
  }
}

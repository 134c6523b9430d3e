import { setTimeout } from "node:timers/promises";
import { StaleFenceError } from "@holdfast/redis";
import Database from "libsql";

/** The rows, each of which remembers the newest token that it was shown. */
const schema = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS accounts (
    id TEXT PRIMARY KEY,
    balance INTEGER NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0
  ) STRICT;
`;

/** Opens a file that several processes share, and makes it if there is none. */
export async function openDatabase(path: string): Promise<Database.Database> {
  const database = new Database(path);
  await whenFree(() => database.exec(schema));
  return database;
}

/** Reads a balance. From then on, the row refuses older tokens. */
export function readBalance(database: Database.Database, id: string, fence: number): Promise<number> {
  return whenFree(() => {
    const touch = "UPDATE accounts SET fence = ? WHERE id = ? AND fence <= ? RETURNING balance";
    const [row] = database.prepare(touch).all(fence, id, fence) as { balance: number }[];
    return row?.balance ?? refuse(database, "read", id, fence);
  });
}

/** Writes a balance, unless the row was shown a newer token. */
export function writeBalance(database: Database.Database, id: string, balance: number, fence: number): Promise<void> {
  return whenFree(() => {
    const touch = "UPDATE accounts SET balance = ?, fence = ? WHERE id = ? AND fence <= ?";
    const { changes } = database.prepare(touch).run(balance, fence, id, fence);
    if (changes === 0) refuse(database, "write", id, fence);
  });
}

/** Says why no row was touched. */
function refuse(database: Database.Database, action: "read" | "write", id: string, fence: number): never {
  const row = database.prepare("SELECT fence FROM accounts WHERE id = ?").get(id) as { fence: number } | undefined;
  if (row === undefined) throw new Error(`could not ${action} account ${id}: there is no such row`);
  throw new StaleFenceError(action, id, fence, row.fence);
}

/** How long another process may have the file before a call gives up. */
const busyMs = 10_000;

/**
 * Does something when no other process is writing. SQLite's own `busy_timeout` would stop the event loop while it waits, and
 * with it the timers that extend a lock, and tell that it was lost.
 */
export async function whenFree<T>(attempt: () => T): Promise<T> {
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

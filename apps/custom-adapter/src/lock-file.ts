// src/lock-file.ts
import { setTimeout } from "node:timers/promises";
import Database from "libsql";

/** What the file stores about one resource. */
export interface Claim {
  readonly resource: string;
  /** The owner, or null when the resource is free. An expired claim has no owner. */
  readonly owner: string | null;
  readonly expiresAtMs: number;
  /** The fence counter, which outlives the claim: 0 for a resource that was never claimed. */
  readonly fence: number;
  /** How often the resource was released. Watchers compare this count. */
  readonly releases: number;
}

/** The claims of a file at one moment. */
export interface Claims {
  readonly nowMs: number;
  read(resource: string): Claim;
  write(claim: Claim): void;
}

/** A file of claims that the processes of one machine share. */
export interface LockFile {
  readonly path: string;
  /**
   * Runs the work atomically: no other process or call interferes, and either all of its changes are kept or none. Rejects
   * with nothing changed if the work throws, or if the file stays busy for `timeoutMs`.
   */
  transaction<T>(timeoutMs: number, work: (claims: Claims) => T): Promise<T>;
  /** The claims as they are now, read-only. */
  look(): Omit<Claims, "write">;
  /** Aborts when the file is closed, so that watches end. */
  readonly closed: AbortSignal;
  close(): void;
}

const setUpMs = 10_000;

// With WAL, readers do not wait for writers. With FULL, grants survive a power failure.
const setUp = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS claims (
    resource TEXT PRIMARY KEY,
    owner TEXT,
    expires_at_ms INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    releases INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/** Opens the file, and creates it if there is none. */
export async function openLockFile(path: string, nowMs: () => number): Promise<LockFile> {
  const database = new Database(path);
  try {
    await untilNotBusy(setUpMs, () => database.exec(setUp));
  } catch (error) {
    database.close();
    throw error;
  }
  const claimsAt = statements(database);
  const closing = new AbortController();
  return {
    path,
    transaction: (timeoutMs, work) =>
      untilNotBusy(timeoutMs, () => {
        database.exec("BEGIN IMMEDIATE"); // locks the file for writing now, so that what is read stays true
        try {
          const result = work(claimsAt(nowMs())); // the time after the wait for the file, not before
          database.exec("COMMIT");
          return result;
        } catch (error) {
          if (database.inTransaction) database.exec("ROLLBACK");
          throw error;
        }
      }),
    look: () => claimsAt(nowMs()),
    closed: closing.signal,
    close: () => {
      closing.abort();
      database.close();
    },
  };
}

/** Prepares the statements that read and write claims. */
function statements(database: Database.Database): (nowMs: number) => Claims {
  const select = database.prepare("SELECT owner, expires_at_ms, fence, releases FROM claims WHERE resource = ?");
  const replace = database.prepare("REPLACE INTO claims VALUES (?, ?, ?, ?, ?)");

  // JSON encodes any string, even one with NUL or a lone surrogate, in characters that every store keeps.
  return (nowMs) => ({
    nowMs,
    read(resource) {
      const row = select.get(JSON.stringify(resource)) as Row | undefined;
      if (row === undefined) return { resource, owner: null, expiresAtMs: 0, fence: 0, releases: 0 };
      const { owner, expires_at_ms: expiresAtMs, fence, releases } = row;
      const isHeld = owner !== null && expiresAtMs > nowMs;
      return { resource, owner: isHeld ? JSON.parse(owner) : null, expiresAtMs, fence, releases };
    },
    write({ resource, owner, expiresAtMs, fence, releases }) {
      const ownerText = owner === null ? null : JSON.stringify(owner);
      replace.run(JSON.stringify(resource), ownerText, expiresAtMs, fence, releases);
    },
  });
}

interface Row {
  readonly owner: string | null;
  readonly expires_at_ms: number;
  readonly fence: number;
  readonly releases: number;
}

/** Retries while the file is busy. SQLite's own busy timeout would block the whole process while it waits. */
async function untilNotBusy<T>(timeoutMs: number, attempt: () => T): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith("SQLITE_BUSY");
      if (!isBusy || performance.now() >= deadlineMs) throw error;
    }
    await setTimeout(1 + 4 * Math.random());
  }
}

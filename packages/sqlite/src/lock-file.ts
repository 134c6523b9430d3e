import { utimesSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Floor } from "@holdfast/core/node";
import { isBusy, type SqliteDatabase } from "./database.ts";

/** What the file stores about one resource. */
export interface Claim {
  readonly resource: string;
  /** The owner, or null when the resource is free. An expired claim has no owner. */
  readonly owner: string | null;
  readonly expiresAtMs: number;
  /** The fence counter, which outlives the claim: 0 for a resource that was never claimed. */
  readonly fence: number;
}

/** The claims of a file at one moment. */
export interface Claims {
  readonly nowMs: number;
  read(resource: string): Claim;
  write(claim: Claim): void;
  /** The floor of all counters, and the epoch of the clients that are served. */
  readFloor(): Floor;
  writeFloor(floor: Floor): void;
  /** Reports a release to the watchers of all processes, with the waiter that it names, if any. */
  announce(resource: string, next?: string): void;
}

/** Some of what the file stores: see {@link LockFile.page}. */
export interface Page {
  readonly nowMs: number;
  readonly claims: readonly Claim[];
  /** The key of the last row; absent on the last page. */
  readonly last?: string;
}

/** A release that was announced. Later ones have larger numbers. */
export interface Release {
  readonly id: number;
  readonly resource: string;
  readonly next?: string;
}

/** A file of claims that the processes of one machine share. */
export interface LockFile {
  /**
   * Runs the work atomically: no other process or call interferes, and either all of its changes are kept or none. Rejects
   * with nothing changed if the work throws, or if the file stays busy for `timeoutMs`.
   */
  transaction<T>(timeoutMs: number, work: (claims: Claims) => T): Promise<T>;
  /** The claims as they are now, read-only. */
  look(): Pick<Claims, "nowMs" | "read" | "readFloor">;
  /** The rows after a key, in the order of their keys: at most a page of them. The first page is after "". */
  page(after: string): Page;
  /** The number of the latest announced release. */
  latestRelease(): number;
  /** The releases that were announced after this one. */
  releasesAfter(id: number): readonly Release[];
  /** The file that changes with each announcement. */
  readonly changing: string;
  /** Aborts when the file is closed, so that watches end. */
  readonly closed: AbortSignal;
  close(): void;
}

const setUpMs = 10_000;

/** How many resources a page has. */
const pageSize = 1_000;

// With WAL, readers do not wait for writers. With FULL, grants survive a power failure; macOS also needs `fullfsync`.
const setUp = `
  PRAGMA busy_timeout = 0;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = ON;
  CREATE TABLE IF NOT EXISTS holdfast_claims (
    resource TEXT PRIMARY KEY,
    owner TEXT,
    expires_at_ms INTEGER NOT NULL,
    fence INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holdfast_floor (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    floor INTEGER NOT NULL,
    epoch INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS holdfast_releases (
    id INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    next TEXT
  ) STRICT;
`;

/** Sets up the file for claims. Closes the connection if that fails. */
export async function openLockFile(path: string, database: SqliteDatabase, nowMs: () => number): Promise<LockFile> {
  try {
    await untilNotBusy(setUpMs, () => database.exec(setUp));
    const { journal_mode: mode } = database.prepare("PRAGMA journal_mode").get() as { journal_mode: string };
    if (mode !== "wal")
      throw new Error(`SQLite cannot keep a write-ahead log of ${path}: is it a file on a local disk?`);
  } catch (error) {
    database.close();
    throw error;
  }
  const claimsAt = claimStatements(database);
  const pageAt = pageStatement(database);
  const changing = `${path}-wal`;
  const closing = new AbortController();
  return {
    ...releaseStatements(database),
    transaction: (timeoutMs, work) =>
      untilNotBusy(timeoutMs, () => {
        let isAnnounced = false;
        const result = atomically(database, () => {
          const claims = claimsAt(nowMs()); // the time after the wait for the file, not before
          const announce: Claims["announce"] = (...release) => {
            isAnnounced = true;
            claims.announce(...release);
          };
          return work({ ...claims, announce });
        });
        if (isAnnounced) touch(changing);
        return result;
      }),
    look: () => claimsAt(nowMs()),
    page: (after) => pageAt(nowMs(), after),
    changing,
    closed: closing.signal,
    close: () => {
      closing.abort(new Error(`the lock file ${path} is closed`));
      database.close();
    },
  };
}

function atomically<T>(database: SqliteDatabase, work: () => T): T {
  database.exec("BEGIN IMMEDIATE"); // locks the file for writing now, so that what is read stays true
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      database.exec("ROLLBACK");
    } catch {} // after some errors, such as a full disk, SQLite has rolled back by itself
    throw error;
  }
}

/**
 * Reports a change to whoever watches the file. SQLite writes to this file before it commits, when watchers would find
 * nothing new, and not afterwards.
 */
function touch(file: string): void {
  const now = new Date();
  try {
    utimesSync(file, now, now);
  } catch {} // a lost notification costs time, not locks
}

/** Prepares the statements that read and write claims. */
function claimStatements(database: SqliteDatabase): (nowMs: number) => Claims {
  const select = database.prepare("SELECT owner, expires_at_ms, fence FROM holdfast_claims WHERE resource = ?");
  const replace = database.prepare("REPLACE INTO holdfast_claims VALUES (?, ?, ?, ?)");
  const selectFloor = database.prepare("SELECT floor, epoch FROM holdfast_floor");
  const replaceFloor = database.prepare("REPLACE INTO holdfast_floor VALUES (1, ?, ?)");
  const log = database.prepare("INSERT INTO holdfast_releases (resource, next) VALUES (?, ?)");
  const forget = database.prepare("DELETE FROM holdfast_releases WHERE id <= last_insert_rowid() - 1000");

  // JSON encodes any string, even one with NUL or a lone surrogate, in characters that every store keeps.
  return (nowMs) => ({
    nowMs,
    read(resource) {
      const row = select.get(JSON.stringify(resource)) as ClaimRow | null | undefined;
      return row ? claimOf(resource, row, nowMs) : { resource, owner: null, expiresAtMs: 0, fence: 0 };
    },
    write({ resource, owner, expiresAtMs, fence }) {
      const ownerText = owner === null ? null : JSON.stringify(owner);
      const latestMs = Math.min(expiresAtMs, Number.MAX_SAFE_INTEGER);
      replace.run(JSON.stringify(resource), ownerText, BigInt(latestMs), BigInt(fence));
    },
    readFloor() {
      const { floor, epoch } = (selectFloor.get() as Floor | null | undefined) ?? { floor: 0, epoch: 0 };
      return { floor, epoch };
    },
    writeFloor({ floor, epoch }) {
      replaceFloor.run(BigInt(floor), BigInt(epoch));
    },
    announce(resource, next) {
      log.run(JSON.stringify(resource), next === undefined ? null : JSON.stringify(next));
      forget.run();
    },
  });
}

/** Returns what a row says at a moment. */
function claimOf(resource: string, { owner, expires_at_ms: expiresAtMs, fence }: ClaimRow, nowMs: number): Claim {
  const isHeld = owner !== null && expiresAtMs > nowMs;
  return { resource, owner: isHeld ? JSON.parse(owner) : null, expiresAtMs, fence };
}

/** Prepares the statement that reads pages. */
function pageStatement(database: SqliteDatabase): (nowMs: number, after: string) => Page {
  const select = database.prepare(
    `SELECT resource, owner, expires_at_ms, fence FROM holdfast_claims
    WHERE resource > ? ORDER BY resource LIMIT ${pageSize}`,
  );
  return (nowMs, after) => {
    const rows = select.all(after) as (ClaimRow & { readonly resource: string })[];
    const last = rows.length < pageSize ? undefined : rows.at(-1);
    return {
      nowMs,
      claims: rows.map((row) => claimOf(JSON.parse(row.resource), row, nowMs)),
      ...(last && { last: last.resource }),
    };
  };
}

/** Prepares the statements that read releases. */
function releaseStatements(database: SqliteDatabase): Pick<LockFile, "latestRelease" | "releasesAfter"> {
  const latest = database.prepare("SELECT coalesce(max(id), 0) AS id FROM holdfast_releases");
  const later = database.prepare("SELECT id, resource, next FROM holdfast_releases WHERE id > ? ORDER BY id");
  return {
    latestRelease: () => (latest.get() as { id: number }).id,
    releasesAfter: (known) =>
      (later.all(BigInt(known)) as ReleaseRow[]).map(({ id, resource, next }) => ({
        id,
        resource: JSON.parse(resource),
        ...(next !== null && { next: JSON.parse(next) }),
      })),
  };
}

interface ClaimRow {
  readonly owner: string | null;
  readonly expires_at_ms: number;
  readonly fence: number;
}

interface ReleaseRow {
  readonly id: number;
  readonly resource: string;
  readonly next: string | null;
}

/** Retries while the file is busy. SQLite's own busy timeout would block the whole process while it waits. */
export async function untilNotBusy<T>(timeoutMs: number, attempt: () => T): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadlineMs) throw error;
    }
    await setTimeout(1 + 4 * Math.random());
  }
}

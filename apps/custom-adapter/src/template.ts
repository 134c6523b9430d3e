import { setTimeout } from "node:timers/promises";
import type { LockNode } from "@holdfast/core";
import { assertAcquire, assertExtend, assertRelease } from "@holdfast/core/node";
import Database from "libsql";

/** What the store keeps about a resource. The fence counter outlives the claim, and never goes down. */
interface Row {
  readonly resource: string;
  readonly owner: string | null;
  readonly expiresAtMs: number;
  readonly fence: number;
}

/** A transaction of the store, at a time of its own clock. */
interface Transaction {
  readonly nowMs: number;
  read(resource: string): Row;
  write(row: Row): void;
}

/** A lock node over a SQLite file: the contract, over a store that has transactions. */
export async function templateNode(path: string): Promise<LockNode & { close(): void }> {
  const store = await openStore(path);
  return {
    name: path,
    suggestedTimeoutMs: 1_000, // a disk may take its time
    acquire: (request) =>
      store.atomically(request.timeoutMs, (transaction) => {
        assertAcquire(request);
        const { resources, owner, ttlMs, fenceHint, takeover } = request;
        const rows = resources.map(transaction.read);
        if (rows.every((row) => row.owner === owner)) return { granted: true, fence: highestFence(rows) }; // sent again
        if (rows.some((row) => row.owner !== null && row.owner !== takeover)) return { granted: false };
        const hint = Math.min(fenceHint, transaction.nowMs * 1_000 + dayUs); // a client's clock may be wrong
        return { granted: true, fence: grant(transaction, rows, owner, ttlMs, hint) };
      }),
    extend: (request) =>
      store.atomically(request.timeoutMs, (transaction) => {
        assertExtend(request);
        const { resources, owner, ttlMs, fence, rejoin } = request;
        const rows = resources.map(transaction.read);
        if (rows.every((row) => row.owner === owner)) {
          for (const row of rows) {
            const expiresAtMs = Math.max(row.expiresAtMs, transaction.nowMs + ttlMs);
            transaction.write({ ...row, expiresAtMs, fence: Math.max(row.fence, fence) });
          }
          return { held: true, fence: Math.max(highestFence(rows), fence) };
        }
        const rejoined = rejoin && rows.every((row) => row.owner === null || row.owner === owner);
        if (rejoined) grant(transaction, rows, owner, ttlMs, fence);
        return { held: false, rejoined };
      }),
    release: (request) =>
      store.atomically(request.timeoutMs, (transaction) => {
        assertRelease(request);
        const held = request.resources.map(transaction.read).filter((row) => row.owner === request.owner);
        for (const row of held) transaction.write({ ...row, owner: null });
        return { released: held.length > 0 };
      }),
    close: () => store.close(),
  };
}

const dayUs = 24 * 60 * 60 * 1_000_000;

/** Claims all the resources under one token, above all earlier ones. */
function grant({ nowMs, write }: Transaction, rows: readonly Row[], owner: string, ttlMs: number, atLeast: number) {
  const fence = Math.max(1 + highestFence(rows), atLeast);
  if (!Number.isSafeInteger(fence)) throw new RangeError("the fence counter is used up");
  for (const row of rows) write({ ...row, owner, expiresAtMs: nowMs + ttlMs, fence });
  return fence;
}

function highestFence(rows: readonly Row[]) {
  return Math.max(...rows.map(({ fence }) => fence));
}

/** All that knows SQLite: replace it with calls to your store. */
async function openStore(path: string) {
  const database = new Database(path);
  const setUp = `
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS locks (resource TEXT PRIMARY KEY, row TEXT NOT NULL)`;
  await untilNotBusy(10_000, () => database.exec(setUp));
  const select = database.prepare("SELECT row FROM locks WHERE resource = ?");
  const replace = database.prepare("REPLACE INTO locks VALUES (?, ?)");
  // JSON encodes any string, even one with NUL or a lone surrogate, in characters that every store keeps.
  const begin = (nowMs: number): Transaction => ({
    nowMs,
    read(resource) {
      const found = select.get(JSON.stringify(resource)) as { row: string } | undefined;
      const row: Row = found ? JSON.parse(found.row) : { resource, owner: null, expiresAtMs: 0, fence: 0 };
      return row.expiresAtMs > nowMs ? row : { ...row, owner: null }; // an expired claim has no owner
    },
    write(row) {
      replace.run(JSON.stringify(row.resource), JSON.stringify(row));
    },
  });
  const transaction = database.transaction((work: (transaction: Transaction) => unknown) => work(begin(Date.now())));
  return {
    atomically: <T>(timeoutMs: number, work: (transaction: Transaction) => T): Promise<T> =>
      untilNotBusy(timeoutMs, () => transaction.immediate(work) as T),
    close: () => {
      database.close();
    },
  };
}

/** Tries again while another process has the file, which does not block this one. */
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

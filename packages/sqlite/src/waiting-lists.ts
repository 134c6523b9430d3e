import type { SqliteDatabase } from "./database.ts";
import { untilNotBusy } from "./lock-file.ts";

/** How long a list is kept after the last request of a waiter, in milliseconds. Waiters retry sooner than that. */
const listTtlMs = 20_000;

/**
 * The waiters for each resource, at one moment. The lists are hints: they decide which waiter is named next, never who
 * gets a lock.
 */
export interface WaitingLists {
  /** Adds a waiter to the list of a resource unless it is already there. */
  add(resource: string, waiter: string, sinceFence: number): void;
  /** Removes a waiter from the list. */
  remove(resource: string, waiter: string): void;
  /** Removes and returns the first waiter. Then adds `last`, if given, at the end of the list. */
  takeNext(resource: string, last?: string): string | undefined;
}

const setUpMs = 10_000;

const waitersTable = `
  CREATE TABLE IF NOT EXISTS holdfast_waiters (
    resource TEXT NOT NULL,
    waiter TEXT NOT NULL,
    since_fence INTEGER NOT NULL,
    ends_at_ms INTEGER NOT NULL,
    PRIMARY KEY (resource, waiter)
  ) STRICT, WITHOUT ROWID;
`;

/** Sets up a file for waiting lists. Returns the lists at a moment, for use in a transaction. */
export async function setUpWaitingLists(database: SqliteDatabase): Promise<(nowMs: number) => WaitingLists> {
  await untilNotBusy(setUpMs, () => database.exec(waitersTable));
  const select = database.prepare(
    "SELECT waiter, since_fence, ends_at_ms FROM holdfast_waiters WHERE resource = ? AND ends_at_ms > ?",
  );
  const replace = database.prepare("REPLACE INTO holdfast_waiters VALUES (?, ?, ?, ?)");
  const drop = database.prepare("DELETE FROM holdfast_waiters WHERE resource = ? AND waiter = ?");
  // An end that is too far in the future was written before the clock was set back.
  const dropEnded = database.prepare("DELETE FROM holdfast_waiters WHERE ends_at_ms <= ? OR ends_at_ms > ?");

  return (nowMs) => {
    const waitersFor = (resource: string): WaiterRow[] =>
      select.all(JSON.stringify(resource), BigInt(nowMs)) as WaiterRow[];
    const remove = (resource: string, waiter: string): void => {
      drop.run(JSON.stringify(resource), JSON.stringify(waiter));
    };
    const add = (resource: string, waiter: string, sinceFence: number): void => {
      const waiterText = JSON.stringify(waiter);
      const known = waitersFor(resource).find((row) => row.waiter === waiterText);
      // Every change costs a disk write, so the end of a list is not moved at each retry.
      if (known !== undefined && known.ends_at_ms - nowMs > listTtlMs / 2) return;
      const endsAtMs = BigInt(nowMs + listTtlMs);
      dropEnded.run(BigInt(nowMs), endsAtMs);
      replace.run(JSON.stringify(resource), waiterText, BigInt(known?.since_fence ?? sinceFence), endsAtMs);
    };
    return {
      add,
      remove,
      takeNext(resource, last) {
        const inOrder = waitersFor(resource)
          .map(({ waiter, since_fence: sinceFence }) => ({ waiter: JSON.parse(waiter) as string, sinceFence }))
          .sort((a, b) => a.sinceFence - b.sinceFence || (a.waiter < b.waiter ? -1 : 1));
        const [first, end] = [inOrder[0], inOrder.at(-1)];
        if (first === undefined || end === undefined) return undefined;
        remove(resource, first.waiter);
        if (last !== undefined) add(resource, last, end.sinceFence + 1);
        return first.waiter;
      },
    };
  };
}

interface WaiterRow {
  readonly waiter: string;
  readonly since_fence: number;
  readonly ends_at_ms: number;
}

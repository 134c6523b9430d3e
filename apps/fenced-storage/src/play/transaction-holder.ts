/** A: a process that is paused for longer than the ttl, before a transaction or inside it. */
import { serveParent } from "@holdfast/app-kit/worker";
import type { Lock } from "@holdfast/core";
import { inLockedTransaction, LockGoneError } from "../postgres/locked-transaction.ts";
import { withdrawal } from "./cases.ts";
import { type LocksInPostgres, openLocksInPostgres } from "./locks-in-postgres.ts";

const ttlMs = 1_000;
const update = "UPDATE accounts SET balance = $2 WHERE id = $1";

let proceed = (): void => {};
const resumed = new Promise<void>((resolve) => {
  proceed = resolve;
});
let writeAll: () => Promise<boolean>;

/** Reads, waits, and writes in a transaction that keeps the lock. */
function withdraw({ pool, node }: LocksInPostgres, lock: Lock, onRead = (): void => {}): Promise<void> {
  return inLockedTransaction(pool, node, lock, async (client) => {
    const [id] = lock.resources;
    const { rows } = await client.query<{ balance: number }>("SELECT balance FROM accounts WHERE id = $1", [id]);
    onRead();
    await resumed;
    await client.query(update, [id, (rows[0] as { balance: number }).balance - withdrawal]);
  });
}

const functions = {
  /** Locks both accounts, and begins one of the transactions. */
  async claim(address: string): Promise<void> {
    const locks = await openLocksInPostgres(address);
    const before = await locks.redlock.acquire("before", { ttlMs });
    const inside = await locks.redlock.acquire("inside", { ttlMs });
    let first: Promise<void> = Promise.resolve();
    await new Promise<void>((resolve, reject) => {
      first = withdraw(locks, inside, resolve);
      first.catch(reject);
    });
    writeAll = async () => {
      proceed();
      await first;
      const isRefused = await withdraw(locks, before).then(
        () => false,
        (error: unknown) => error instanceof LockGoneError,
      );
      if (isRefused) await locks.redlock.using("before", (lock) => withdraw(locks, lock));
      await locks.close();
      return isRefused;
    };
  },
  /** Writes to both accounts. Resolves with whether the late transaction was refused. */
  write: (): Promise<boolean> => writeAll(),
};

/** The functions that the parent calls. */
export type TransactionHolderFunctions = typeof functions;

serveParent(functions);

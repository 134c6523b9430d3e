import { startWorkerProcess } from "@holdfast/app-kit/worker-process";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { inLockedTransaction } from "../postgres/locked-transaction.ts";
import { deposit, opening } from "./cases.ts";
import { type LocksInPostgres, openLocksInPostgres } from "./locks-in-postgres.ts";
import type { TransactionHolderFunctions } from "./transaction-holder.ts";

const program = new URL("./transaction-holder.ts", import.meta.url);
const limitMs = 60_000;

/** How the transactions ended. */
export interface TransactionOutcome {
  /** The balances at the end: of the account before, and inside, whose transaction A was paused. */
  readonly balances: Readonly<Record<"before" | "inside", number>>;
  /** Whether the transaction that began too late was refused. */
  readonly isRefused: boolean;
  /** The order in which B got the lock of the transaction that was under way, and A went on. */
  readonly order: readonly string[];
}

/**
 * Plays transactions that keep their lock. A is paused before one transaction and inside another. B deposits as soon as
 * it gets each lock.
 */
export async function playTransactions(address: string, cleanup: Cleanup): Promise<TransactionOutcome> {
  const locks = await openLocksInPostgres(address);
  cleanup.defer(locks.close);
  await locks.pool.query("INSERT INTO accounts (id, balance) VALUES ('before', $1), ('inside', $1)", [opening]);
  const holder = startWorkerProcess<TransactionHolderFunctions>(await bundleProgram(program), { name: "A" });
  cleanup.defer(holder.stop);
  await holder.call("claim", limitMs, address);
  holder.pause();
  const order: string[] = [];
  const inside = visit(locks, "inside").then(() => order.push("B has the lock"));
  await visit(locks, "before"); // the ttl has passed
  order.push("A goes on");
  const written = holder.call("write", limitMs);
  holder.resume();
  const isRefused = await written;
  await inside;
  const { rows } = await locks.pool.query<{ id: string; balance: number }>("SELECT id, balance FROM accounts");
  const balanceOf = (name: string): number => rows.find(({ id }) => id === name)?.balance ?? 0;
  return { balances: { before: balanceOf("before"), inside: balanceOf("inside") }, isRefused, order };
}

/** B: gets the lock, and deposits. */
async function visit({ redlock, node, pool }: LocksInPostgres, id: string): Promise<void> {
  await redlock.using(id, (lock) =>
    inLockedTransaction(pool, node, lock, async (client) => {
      await client.query("UPDATE accounts SET balance = balance + $2 WHERE id = $1", [id, deposit]);
    }),
  );
}

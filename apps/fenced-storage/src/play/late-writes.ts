import type { Lock } from "@holdfast/core";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { type Account, type Accounts, accountOf } from "../accounts.ts";
import { openAccounts, type StorageName } from "../storages.ts";
import { arrivals, type Case, cases, deposit, opening } from "./cases.ts";
import { connectLocks, type Locks } from "./locks.ts";
import { type Holder, startHolder } from "./start-holder.ts";

/** How one case ended. */
export interface Outcome extends Case {
  /** What is in the account in the end. */
  readonly balance: number;
  /** Whether the storage took the late write. */
  readonly isAccepted: boolean;
}

/**
 * A locks each account, reads it, and is paused. B gets the lock when its ttl has passed, reads, and adds something. A
 * wakes up, and takes something away, after B has written or before. In the end, both should be in the balance.
 */
export async function playLateWrites(
  storage: StorageName,
  address: string,
  lockServers: readonly string[],
  cleanup: Cleanup,
  signal?: AbortSignal,
): Promise<Outcome[]> {
  const accounts = await openAccounts(storage, address);
  cleanup.defer(accounts.close);
  const locks = await connectLocks(lockServers, signal);
  cleanup.defer(locks.close);
  for (const { account } of cases) await accounts.create(account, opening);

  const holder = await startHolder(storage, address, ...lockServers);
  cleanup.defer(holder.kill);
  await holder.hear("pause");
  const visits = await Promise.all(cases.map((one) => beginVisit(one, accounts, locks)));
  for (const visit of visits) if (visit.one.arrival === arrivals[0]) await visit.end();
  const ended = holder.resume();
  for (const visit of visits) if (visit.one.arrival === arrivals[1]) await endAfterLateWrite(visit, holder);
  await ended;
  return Promise.all(cases.map((one) => outcomeOf(one, accounts, holder)));
}

/** B, when it has the lock and has read. */
interface Visit {
  readonly one: Case;
  /** Writes, and releases the lock. */
  end(): Promise<void>;
}

async function beginVisit(one: Case, accounts: Accounts, { redlock }: Locks): Promise<Visit> {
  const lock: Lock = await redlock.acquire(one.account);
  const account: Account = accountOf(accounts, one.account, lock.fence, one.checks);
  const balance = await account.read();
  return {
    one,
    async end() {
      await account.write(balance + deposit);
      await lock.release();
    },
  };
}

async function endAfterLateWrite(visit: Visit, holder: Holder): Promise<void> {
  await holder.hear(visit.one.account);
  await visit.end();
}

async function outcomeOf(one: Case, accounts: Accounts, holder: Holder): Promise<Outcome> {
  const message = await holder.hear(one.account);
  const balance = await accounts.unchecked(one.account).read();
  return { ...one, balance, isAccepted: message.isAccepted === true };
}

import type { Lock, LockOptions, Redlock } from "@holdfast/core";
import { StaleFenceError } from "@holdfast/redis";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Accounts } from "../accounts.ts";
import { load, type StorageName } from "../storages.ts";
import { arrivals, type Case, cases, deposit, opening, withdrawal } from "./cases.ts";
import { connectLocks } from "./locks.ts";

/** How a case ended. */
export interface Outcome extends Case {
  /** The balance at the end. */
  readonly balance: number;
  /** Whether the storage accepted the late write. */
  readonly isAccepted: boolean;
}

/** A or B, with connections of its own. */
interface Client {
  readonly redlock: Redlock;
  readonly accounts: Accounts;
}

/** A lock, and what its holder has read under it. */
interface Claim {
  readonly lock: Lock;
  readonly balance: number;
  /** Sets the balance, under the lock. */
  write(balance: number): Promise<void>;
}

/** How A locks: nothing extends a lock of a process that is paused. */
const paused = { ttlMs: 1_000, autoExtend: false };

/**
 * Plays the late writes. A locks each account, reads it, and is paused. B gets the lock when its ttl has passed, reads, and
 * deposits. A wakes up and withdraws, before or after the write of B. The balance should show both at the end.
 */
export async function playLateWrites(
  storage: StorageName,
  address: string,
  lockServers: readonly string[],
  cleanup: Cleanup,
  signal?: AbortSignal,
): Promise<Outcome[]> {
  const { open } = await load[storage]();
  const connect = async (): Promise<Client> => {
    const accounts = await open(address);
    cleanup.defer(accounts.close);
    const { redlock, close } = await connectLocks(lockServers, signal);
    cleanup.defer(close);
    return { redlock, accounts };
  };
  const [a, b] = [await connect(), await connect()];
  for (const { account } of cases) await b.accounts.create(account, opening);
  const claimAll = (client: Client, options?: LockOptions): Promise<Claim[]> =>
    Promise.all(cases.map((one) => claim(one, client, options)));
  let claims = await claimAll(a, paused);
  // On a busy machine, some are lost before all are held.
  while (claims.some(({ lock }) => lock.remainingMs() <= 0)) claims = await claimAll(a, paused);
  const visits = await claimAll(b); // A holds every lock, as it has just checked, and is paused until here
  return Promise.all(
    cases.map(async (one, index) => {
      const isAccepted = await playCase(one, a, claims[index] as Claim, visits[index] as Claim);
      return { ...one, isAccepted, balance: await b.accounts.read(one.account) };
    }),
  );
}

/** Locks an account, and reads it. */
async function claim(one: Case, { redlock, accounts }: Client, options?: LockOptions): Promise<Claim> {
  const { account, checks } = one;
  const lock = await redlock.acquire(account, options);
  return {
    lock,
    balance: await accounts.read(account, checks === "reads and writes" ? lock.fence : undefined),
    write: (balance) => accounts.write(account, balance, checks === "nothing" ? undefined : lock.fence),
  };
}

/** Lets A and B write. If the late write is refused, A starts again with another lock. Resolves with whether it was accepted. */
async function playCase(one: Case, a: Client, late: Claim, visit: Claim): Promise<boolean> {
  const endVisit = async (): Promise<void> => {
    await visit.write(visit.balance + deposit);
    await visit.lock.release();
  };
  const withdraw = ({ balance, write }: Claim): Promise<void> => write(balance - withdrawal);
  if (one.arrival === arrivals[0]) await endVisit();
  const isAccepted = await withdraw(late).then(
    () => true,
    (error) => {
      if (!(error instanceof StaleFenceError)) throw error;
      return false;
    },
  );
  if (one.arrival === arrivals[1]) await endVisit();
  if (!isAccepted) {
    const again = await claim(one, a);
    await withdraw(again);
    await again.lock.release();
  }
  return isAccepted;
}

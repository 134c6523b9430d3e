import { EventEmitter, once } from "node:events";
import { startWorkerProcess } from "@holdfast/app-kit/worker-process";
import type { Redlock } from "@holdfast/core";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { type Accounts, accountOf } from "../accounts.ts";
import { load, type StorageName } from "../storages.ts";
import { arrivals, type Case, cases, deposit, opening } from "./cases.ts";
import type { HolderFunctions } from "./holder.ts";
import { connectLocks } from "./locks.ts";

const program = new URL("./holder.ts", import.meta.url);
const limitMs = 60_000;

/** How a case ended. */
export interface Outcome extends Case {
  /** The balance at the end. */
  readonly balance: number;
  /** Whether the storage accepted the late write. */
  readonly isAccepted: boolean;
}

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
  const accounts = await open(address);
  cleanup.defer(accounts.close);
  const { redlock, close } = await connectLocks(lockServers, signal);
  cleanup.defer(close);
  for (const { account } of cases) await accounts.create(account, opening);

  const news = new EventEmitter().setMaxListeners(0);
  const accepted = new Map<string, boolean>();
  const onWrite = (account: string, isAccepted: boolean): void => {
    accepted.set(account, isAccepted);
    news.emit(account);
  };
  const holder = startWorkerProcess<HolderFunctions>(await bundleProgram(program), { name: "A", events: { onWrite } });
  cleanup.defer(holder.stop);
  await holder.call("claim", limitMs, storage, address, lockServers);
  holder.pause(); // A holds every lock, as it has just checked
  const visits = await Promise.all(cases.map((one) => beginVisit(one, accounts, redlock)));
  for (const { one, end } of visits) if (one.arrival === arrivals[0]) await end();
  const late = visits.filter(({ one }) => one.arrival === arrivals[1]);
  const interrupted = late.map(async ({ one, end }) => {
    await once(news, one.account);
    await end();
  });
  const written = holder.call("write", limitMs); // the message waits until A runs again
  holder.resume();
  await Promise.all([written, ...interrupted]);
  const outcomeOf = async (one: Case): Promise<Outcome> => {
    const balance = await accounts.unchecked(one.account).read();
    return { ...one, balance, isAccepted: accepted.get(one.account) === true };
  };
  return Promise.all(cases.map(outcomeOf));
}

/** B gets the lock, and reads. */
async function beginVisit(one: Case, accounts: Accounts, redlock: Redlock) {
  const lock = await redlock.acquire(one.account);
  const account = accountOf(accounts, one.account, lock.fence, one.checks);
  const balance = await account.read();
  return {
    one,
    /** Writes, and releases the lock. */
    async end(): Promise<void> {
      await account.write(balance + deposit);
      await lock.release();
    },
  };
}

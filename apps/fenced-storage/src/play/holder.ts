/** A: a process that is paused for longer than the ttl, between the last check of its lock and its write. */
import { serveParent } from "@holdfast/app-kit/worker";
import type { Lock, Redlock } from "@holdfast/core";
import { StaleFenceError } from "@holdfast/redis";
import { type Account, type Accounts, accountOf } from "../accounts.ts";
import { load, type StorageName } from "../storages.ts";
import { type Case, cases, withdrawal } from "./cases.ts";
import { connectLocks } from "./locks.ts";

/** What A knows of an account when it is paused. */
interface Claim {
  readonly one: Case;
  readonly lock: Lock;
  readonly account: Account;
  readonly balance: number;
}

const ttlMs = 1_000;

/** Locks every account, and reads it. */
function claimAll(redlock: Redlock, accounts: Accounts): Promise<Claim[]> {
  return Promise.all(
    cases.map(async (one) => {
      const lock = await redlock.acquire(one.account, { ttlMs });
      const account = accountOf(accounts, one.account, lock.fence, one.checks);
      return { one, lock, account, balance: await account.read() };
    }),
  );
}

/** Writes too late. If the write is refused, A starts again with another lock. */
async function writeLate({ one, account, balance }: Claim, redlock: Redlock, accounts: Accounts): Promise<void> {
  try {
    await account.write(balance - withdrawal);
    parent.emit("onWrite", one.account, true);
  } catch (error) {
    if (!(error instanceof StaleFenceError)) throw error;
    parent.emit("onWrite", one.account, false);
    await redlock.using(one.account, async ({ fence }) => {
      const again = accountOf(accounts, one.account, fence, one.checks);
      await again.write((await again.read()) - withdrawal);
    });
  }
}

let claims: Claim[] = [];
let writeAll: () => Promise<unknown>;

const functions = {
  /** Locks and reads every account. */
  async claim(storage: StorageName, address: string, lockServers: readonly string[]): Promise<void> {
    const { open } = await load[storage]();
    const accounts = await open(address);
    const { redlock, close } = await connectLocks(lockServers);
    do {
      claims = await claimAll(redlock, accounts);
    } while (claims.some(({ lock }) => lock.remainingMs() <= 0)); // on a busy machine some are lost before all are held
    writeAll = async () => {
      await Promise.all(claims.map((claim) => writeLate(claim, redlock, accounts)));
      await close();
      await accounts.close();
    };
  },
  /** Writes to every account. */
  write: (): Promise<unknown> => writeAll(),
};

/** The functions that the parent calls. */
export type HolderFunctions = typeof functions;

const parent = serveParent<{ onWrite(account: string, isAccepted: boolean): void }>(functions);

/** A: a process that is paused between the last look at its lock and its write, for longer than the ttl. */
import type { Lock, Redlock } from "@holdfast/core";
import { StaleFenceError } from "@holdfast/redis";
import { type Account, type Accounts, accountOf } from "../accounts.ts";
import { openAccounts, type StorageName } from "../storages.ts";
import { type Case, cases, withdrawal } from "./cases.ts";
import { connectLocks } from "./locks.ts";
import type { Message } from "./messages.ts";

/** What A knows of one account when it is paused. */
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

/** The write that comes too late. Where it is refused, A begins again, with another lock. */
async function writeLate({ one, account, balance }: Claim, redlock: Redlock, accounts: Accounts): Promise<void> {
  try {
    await account.write(balance - withdrawal);
    tell({ about: one.account, isAccepted: true });
  } catch (error) {
    if (!(error instanceof StaleFenceError)) throw error;
    tell({ about: one.account, isAccepted: false });
    await redlock.using(one.account, async ({ fence }) => {
      const again = accountOf(accounts, one.account, fence, one.checks);
      await again.write((await again.read()) - withdrawal);
    });
  }
}

function tell(message: Message): void {
  console.log(JSON.stringify(message));
}

const [storage, address, ...lockServers] = process.argv.slice(2) as [StorageName, string, ...string[]];
const accounts = await openAccounts(storage, address);
const { redlock, close } = await connectLocks(lockServers);

let claims = await claimAll(redlock, accounts);
while (claims.some(({ lock }) => lock.remainingMs() <= 0)) {
  claims = await claimAll(redlock, accounts); // the machine was so busy that some were lost before all were there
}
tell({ about: "pause" });
process.kill(process.pid, "SIGSTOP"); // it holds every lock, as it has just seen; what it does next, it does late
await Promise.all(claims.map((claim) => writeLate(claim, redlock, accounts)));
await close();
await accounts.close();

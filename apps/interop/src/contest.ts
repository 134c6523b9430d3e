import { setTimeout as sleep } from "node:timers/promises";
import { createDice, type Dice } from "@holdfast/app-kit/dice";
import { startServer } from "@holdfast/app-kit/servers";
import { createCleanup } from "@holdfast/testkit/cleanup";
import type { HeldLock, Library, Locker } from "./libraries/library.ts";

/** The parameters of a contest. */
export interface Contest {
  readonly libraries: readonly Library[];
  /** The number of servers that hold the locks. */
  readonly servers: number;
  /** The number of clients of each library, each with connections of its own. */
  readonly clients: number;
  /** The number of locks that each client holds, one after another. */
  readonly locks: number;
  /** The time limit, in milliseconds. */
  readonly limitMs: number;
}

/** The results of a client that has done nothing. */
const noCounts = {
  locks: 0,
  /** Those of the locks that covered two keys. */
  doubleLocks: 0,
  /** Attempts that failed because another client held a key. */
  conflicts: 0,
  /** Increments that were made under the locks. */
  increments: 0,
  extensions: 0,
  /** Locks that could not be extended, though their ttl was far from its end. */
  lostLocks: 0,
  /** Fencing tokens that were not larger than the one before on the same key. */
  staleTokens: 0,
};

/** The results of a client, or of several. */
export type Counts = typeof noCounts;

/** How a contest ended. */
export interface Result {
  readonly byLibrary: readonly (Counts & { readonly library: string })[];
  /** Increments that are missing in the numbers at the end. */
  readonly lostUpdates: number;
}

/**
 * A number without any protection: read, and written back a little later. Two clients that change it at the same time lose an
 * update.
 */
interface Protected {
  readonly key: string;
  number: number;
  /** The last fencing token. */
  fence: number;
}

/** Few keys, so that there are conflicts, with the prefix that redis-semaphore requires. */
const keys = ["mutex:number-1", "mutex:number-2", "mutex:number-3"];

/** Far longer than the contest, so that locks end by release alone. */
const ttlMs = 120_000;
const pauseMaxMs = 8;

/** Lets clients of all libraries contend for the same few keys. */
export async function holdContest({ libraries, servers, clients, ...task }: Contest): Promise<Result> {
  const cleanup = createCleanup();
  try {
    const holders = await Promise.all(Array.from({ length: servers }, () => startServer(cleanup)));
    const ports = holders.map(({ port }) => port);
    const numbers = keys.map((key) => ({ key, number: 0, fence: 0 }));
    const work = async (library: Library, client: number): Promise<Counts> => {
      const locker = await library.connect(ports);
      cleanup.defer(() => locker.close());
      return contend({ ...library, ...locker, numbers, dice: createDice(client), ...task });
    };
    const byLibrary = await Promise.all(
      libraries.map(async (library) => {
        const counts = await Promise.all(Array.from({ length: clients }, (_, client) => work(library, client)));
        return { library: library.name, ...sum(counts) };
      }),
    );
    const found = numbers.reduce((total, { number }) => total + number, 0);
    return { byLibrary, lostUpdates: sum(byLibrary).increments - found };
  } finally {
    await cleanup.run();
  }
}

/** Adds up the counts. */
export function sum(all: readonly Counts[]): Counts {
  const total = { ...noCounts };
  for (const counts of all) {
    for (const name of Object.keys(noCounts) as (keyof Counts)[]) total[name] += counts[name];
  }
  return total;
}

/** A client of a library, and what it is to do. */
interface Client extends Pick<Library, "locksSeveral">, Locker, Pick<Contest, "locks" | "limitMs"> {
  readonly numbers: readonly Protected[];
  readonly dice: Dice;
}

/** Locks, changes the protected numbers, and unlocks, repeatedly. */
async function contend({ tryLock, numbers, locks, limitMs, dice, locksSeveral }: Client): Promise<Counts> {
  const counts = { ...noCounts };
  const deadlineMs = performance.now() + limitMs;
  while (counts.locks < locks) {
    if (performance.now() > deadlineMs) throw new Error(`only ${counts.locks} of ${locks} locks in ${limitMs} ms`);
    const chosen = dice.some(numbers, locksSeveral && counts.locks % 4 === 3 ? 2 : 1);
    const lock = await tryLock(
      chosen.map(({ key }) => key),
      ttlMs,
    );
    if (lock === null) counts.conflicts += 1;
    else await use(lock, chosen, counts);
    await sleep(Math.random() * pauseMaxMs);
  }
  return counts;
}

async function use(lock: HeldLock, numbers: readonly Protected[], counts: Counts): Promise<void> {
  counts.locks += 1;
  if (numbers.length > 1) counts.doubleLocks += 1;
  for (const one of numbers) {
    if (lock.fence !== undefined) {
      if (lock.fence <= one.fence) counts.staleTokens += 1;
      one.fence = lock.fence;
    }
    const { number } = one;
    await sleep(1);
    one.number = number + 1;
    counts.increments += 1;
  }
  if (counts.locks % 3 === 0) {
    if (await lock.extend(ttlMs)) counts.extensions += 1;
    else counts.lostLocks += 1;
  }
  await lock.release();
}

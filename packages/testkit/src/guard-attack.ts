/**
 * Random clients write to a guarded table under locks of a few milliseconds: some forget the token, keep an old one, or are
 * paused for longer than the ttl. No stale write may be accepted, whatever the library and the isolation level.
 */
import type { Lock, Redlock } from "@holdfast/core";
import { expect, test } from "vitest";
import { fuzzSeed } from "./fuzz-seed.ts";
import { isNightly } from "./nightly.ts";

/** Runs a statement, and resolves with its rows. */
type Run = (text: string) => PromiseLike<readonly unknown[]>;

/** A client: runs steps in a transaction, which is rolled back if one throws. */
export type Client<Transaction> = <Result>(
  step: (run: Run, transaction: Transaction) => Promise<Result>,
) => Promise<Result>;

/** How a client shows its token while it works in a transaction. */
type Way<Transaction> = (run: Run, transaction: Transaction, lock: Lock, work: () => Promise<void>) => Promise<unknown>;

/** A database with guarded tables. */
export interface AttackedDatabase<Transaction> {
  /** Runs a statement that commits by itself. */
  readonly query: Run;
  /** Guards the table `accounts` by its column `lock_name`, or removes the guard. */
  guard(isGuarded: boolean): Promise<unknown>;
  openClients(): Promise<{ readonly clients: readonly Client<Transaction>[]; end(): Promise<unknown> }>;
  registerRead(transaction: Transaction, lock: Lock): Promise<unknown>;
  /** The ways to show a token, all of which work on a table without a guard, too. */
  readonly ways: Readonly<Record<"fenced" | "plain SQL", Way<Transaction>>>;
  /** Returns the SQLSTATE of an error. */
  stateOf(error: unknown): string;
  /** Its locks are of any nodes. */
  readonly redlock: Redlock;
}

const attempts = isNightly ? 2_000 : 200;
const names = ["a", "b"];
const ttlMs = 40;

let random = fuzzSeed;

/** Returns a number from 0 to below 1. */
function draw(): number {
  random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
  return random / 2 ** 31;
}

const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(draw() * values.length)] as Value;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const changeOfMind = new Error("the client changes its mind");

/** Why a transaction is rolled back: refusals of the guard, serialization failures and deadlocks. */
const refusals = ["LF409", "LF428", "40001", "40P01"];

/** The accepted updates of each name, the accepted writes that showed no token, and the refused transactions. */
interface Tally {
  readonly accepted: Map<string, number>;
  forgotten: number;
  refused: number;
}

/** Reads a balance under a lock, and later writes one that is based on it: as an honest holder, or one of the others. */
async function attack<Transaction>(
  database: AttackedDatabase<Transaction>,
  clients: readonly Client<Transaction>[],
  tally: Tally,
  isGuarded: boolean,
): Promise<void> {
  const name = pick(names);
  const [reader, writer] = [pick(clients), pick(clients)];
  const lock = await database.redlock.acquire(name, { ttlMs, waitTimeoutMs: 60_000 });
  const note = (run: Run, writes: 0 | 1) =>
    run(`INSERT INTO events (lock_name, token, writes) VALUES ('${name}', ${lock.fence}, ${writes})`);
  const balance = await reader(async (run, transaction) => {
    if (draw() < 0.2) await run("SELECT * FROM accounts"); // takes a snapshot too early
    if (isGuarded) await database.registerRead(transaction, lock);
    await note(run, 0);
    const [row] = await run(`SELECT balance FROM accounts WHERE lock_name = '${name}'`);
    return Number(Object.values(Object(row))[0]);
  });
  await sleep(draw() < 0.5 ? 0 : draw() * 4 * ttlMs); // often for longer than the ttl
  const forgets = draw() < 0.1;
  await writer(async (run, transaction) => {
    const work = async () => {
      const write = () => run(`UPDATE accounts SET balance = ${balance + 1} WHERE lock_name = '${name}'`);
      if (draw() < 0.2) {
        await run("SAVEPOINT earlier");
        await write();
        await run("ROLLBACK TO SAVEPOINT earlier");
      }
      await write();
      await note(run, 1);
      if (draw() < 0.2) await sleep(draw() * 2 * ttlMs);
      if (draw() < 0.1) throw changeOfMind;
    };
    if (forgets) return work();
    if (isGuarded && draw() < 0.3) await database.registerRead(transaction, lock);
    await pick(Object.values(database.ways))(run, transaction, lock, work);
  });
  if (forgets) tally.forgotten += 1;
  tally.accepted.set(name, (tally.accepted.get(name) ?? 0) + 1);
  if (draw() < 0.5) await lock.release();
}

/**
 * Returns the writes after which an older one was committed, or one that is older than what was read before. Transactions of
 * one lock hold its row in the registry when they write an event, so the events are numbered in the order of the commits.
 */
const staleWrites = `
  SELECT * FROM (
    SELECT lock_name, token, writes, MAX(token) OVER (PARTITION BY lock_name ORDER BY id) AS newest FROM events
  ) AS judged WHERE writes = 1 AND token < newest`;

/** Lets eight clients attack at once, and returns what they did to the data. */
async function attackAll<Transaction>(database: AttackedDatabase<Transaction>, isGuarded: boolean) {
  for (const statement of [
    "DROP TABLE IF EXISTS accounts, events",
    "CREATE TABLE accounts (lock_name VARCHAR(9) PRIMARY KEY, balance INT NOT NULL)",
    "CREATE TABLE events (id SERIAL PRIMARY KEY, lock_name VARCHAR(9), token BIGINT, writes INT)",
    "INSERT INTO accounts VALUES ('a', 0), ('b', 0)",
  ]) {
    await database.query(statement);
  }
  await database.guard(isGuarded);
  const { clients, end } = await database.openClients();
  const tally: Tally = { accepted: new Map(), forgotten: 0, refused: 0 };
  let left = attempts;
  const worker = async () => {
    while (left-- > 0) {
      await attack(database, clients, tally, isGuarded).catch((error) => {
        const state = database.stateOf(error);
        if (error !== changeOfMind && !refusals.includes(state)) throw error;
        tally.refused += Number(state.startsWith("LF"));
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker)).finally(end);
  const lost: Record<string, number> = {};
  for (const name of names) {
    const [row] = await database.query(`SELECT balance FROM accounts WHERE lock_name = '${name}'`);
    lost[name] = (tally.accepted.get(name) ?? 0) - Number(Object.values(Object(row))[0]);
  }
  return { ...tally, lost, stale: await database.query(staleWrites) };
}

/** Attacks a guarded table, and one without a guard, on which the same attack must succeed. */
export function testGuardUnderAttack<Transaction>(database: AttackedDatabase<Transaction>): void {
  test("a guarded table accepts no stale write and no write without a token, and loses no update", async () => {
    const { lost, stale, forgotten, refused, accepted } = await attackAll(database, true);
    const say = `with seed ${fuzzSeed}`;
    expect({ lost, stale, forgotten }, say).toEqual({ lost: { a: 0, b: 0 }, stale: [], forgotten: 0 });
    for (const name of names) expect(accepted.get(name), say).toBeGreaterThan(attempts / 50);
    expect(refused, say).toBeGreaterThan(attempts / 50);
  });

  test("the same attack on a table that is not guarded loses updates", async () => {
    const { lost, stale, forgotten } = await attackAll(database, false);
    expect(Math.max(...Object.values(lost))).toBeGreaterThan(0);
    expect(stale).not.toEqual([]);
    expect(forgotten).toBeGreaterThan(0);
  });
}

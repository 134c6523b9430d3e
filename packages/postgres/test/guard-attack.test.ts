/**
 * Random clients write to guarded tables under locks of a few milliseconds: some forget the token, keep an old one, or are
 * paused for longer than the ttl. No stale write may be accepted, whatever the library and the isolation level.
 */
import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { createGuard, fenced, registerRead, removeGuard, type Transaction } from "@holdfast/postgres";
import { fuzzSeed, isNightly } from "@holdfast/testkit";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import postgres from "postgres";
import { afterAll, expect, test } from "vitest";
import { runIn, stateOf } from "../src/transaction.ts";
import { type Library, openPool } from "./holds-in-library.ts";
import { libraries } from "./libraries.ts";

// The server ends a deadlock between an older and a newer holder at once.
const server = await startPostgresServer({ settings: { track_commit_timestamp: "on", deadlock_timeout: "10ms" } });
const { connectionString } = server;
const admin = openPool(connectionString);
afterAll(async () => {
  await admin.end();
  await server.stop();
});

const attempts = isNightly ? 2_000 : 200;
const names = ["a", "b"];
const ttlMs = 40;

let random = fuzzSeed;

/** Returns a number from 0 to below 1. */
function draw(): number {
  random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
  return random / 2 ** 31;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The name of a lock, and a token of it. */
interface Held {
  readonly resources: readonly string[];
  readonly fence: number;
}

/** A client: runs steps in a transaction, which is rolled back if one throws. */
type InTransaction = <Result>(step: (transaction: Transaction) => Promise<Result>) => Promise<Result>;

type Clients = Readonly<Record<string, InTransaction>>;

/** Opens the clients: libraries, the drivers by themselves, and a tool that knows only SQL. */
async function openClients(): Promise<{ clients: Clients; end(): Promise<unknown> }> {
  const over = (level: string) => `${connectionString}?options=-c%20default_transaction_isolation%3D${level}`;
  const pool = new pg.Pool({ connectionString: over("repeatable%5C%20read"), max: 3 });
  const sql = postgres(over("serializable"), { max: 3, fetch_types: false, onnotice() {} });
  const opened = await Promise.all(
    Object.entries(libraries).map(
      async ([name, open]): Promise<[string, Library]> => [name, await open(connectionString)],
    ),
  );
  const byLibrary = opened.map(([name, library]): [string, InTransaction] => [
    name,
    (step) => library.inTransaction((transaction) => step(transaction), {} as never),
  ]);
  const clients: Clients = {
    ...Object.fromEntries(byLibrary),
    "postgres.js": (step) => sql.begin(step as never) as never,
    async pg(step) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const result = await step(client);
        await client.query("COMMIT");
        return result;
      } catch (error) {
        await client.query("ROLLBACK");
        throw error;
      } finally {
        client.release();
      }
    },
  };
  return { clients, end: () => Promise.all([...opened.map(([, library]) => library.end()), pool.end(), sql.end()]) };
}

/** How a client gets its token into a transaction. */
const ways: Readonly<Record<string, (transaction: Transaction, held: Held) => Promise<unknown>>> = {
  fenced,
  registerRead,
  "plain SQL": (transaction, { resources: [name], fence }) =>
    run(transaction, `SET LOCAL holdfast.fence = '{"${name}": ${fence}}'`),
};

const run = (transaction: Transaction, text: string, values: (string | number)[] = []) =>
  runIn(transaction, { name: "", text }, values);

const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(draw() * values.length)] as Value;

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
async function attack(clients: Clients, redlock: Redlock, tally: Tally, isGuarded: boolean): Promise<void> {
  const name = pick(names);
  const [reader, writer] = [pick(Object.values(clients)), pick(Object.values(clients))];
  const lock = await redlock.acquire(name, { ttlMs, waitTimeoutMs: 60_000 });
  const forgets = draw() < 0.1;
  const balance = await reader(async (transaction) => {
    if (isGuarded) await registerRead(transaction, lock);
    await run(transaction, "INSERT INTO shown (lock, token) VALUES ($1, $2)", [name, lock.fence]);
    const [row] = await run(transaction, "SELECT balance FROM accounts WHERE lock = $1", [name]);
    return Number(Object.values(row as object)[0]);
  });
  await sleep(draw() < 0.5 ? 0 : draw() * 4 * ttlMs); // often for longer than the ttl
  await writer(async (transaction) => {
    if (!forgets) await ways[pick(isGuarded ? Object.keys(ways) : ["plain SQL"])]?.(transaction, lock);
    const write = () => run(transaction, "UPDATE accounts SET balance = $2 WHERE lock = $1", [name, balance + 1]);
    if (draw() < 0.2) {
      await run(transaction, "SAVEPOINT before");
      await write();
      await run(transaction, "ROLLBACK TO before");
    }
    await write();
    await run(transaction, "INSERT INTO written (lock, token) VALUES ($1, $2)", [name, lock.fence]);
    if (draw() < 0.2) await sleep(draw() * 2 * ttlMs);
    if (draw() < 0.1) throw changeOfMind;
  });
  if (forgets) tally.forgotten += 1;
  tally.accepted.set(name, (tally.accepted.get(name) ?? 0) + 1);
  if (draw() < 0.5) await lock.release();
}

/** Returns the writes after which an older one was committed, or one that is older than what was read before. */
const staleWrites = `
  WITH events AS (
    SELECT lock, token, true AS writes, pg_xact_commit_timestamp(xmin) AS at FROM written
    UNION ALL SELECT lock, token, false, pg_xact_commit_timestamp(xmin) FROM shown
  )
  SELECT lock, token, newest FROM (
    SELECT *, max(token) OVER (PARTITION BY lock ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS newest
    FROM events
  ) AS judged WHERE writes AND token < newest`;

/** Lets eight clients attack at once, and returns what they did to the data. */
async function attackAll(isGuarded: boolean) {
  await admin.query(`DROP TABLE IF EXISTS accounts, shown, written;
    CREATE TABLE accounts (lock text PRIMARY KEY, balance int NOT NULL);
    CREATE TABLE shown (lock text, token bigint);
    CREATE TABLE written (lock text, token bigint);
    INSERT INTO accounts VALUES ('a', 0), ('b', 0)`);
  const tables = ["accounts", "written"].map((table) => ({ table, column: "lock" }));
  await admin.query(createGuard({ tables }));
  if (!isGuarded) await admin.query(removeGuard({ tables }));
  const { clients, end } = await openClients();
  const redlock = new Redlock([memoryNode()]);
  const tally: Tally = { accepted: new Map(), forgotten: 0, refused: 0 };
  let left = attempts;
  try {
    const worker = async () => {
      while (left-- > 0) {
        await attack(clients, redlock, tally, isGuarded).catch((error) => {
          const reason = stateOf(error);
          if (error !== changeOfMind && !refusals.includes(reason)) throw error;
          tally.refused += Number(reason.startsWith("LF"));
        });
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  } finally {
    await end();
    await redlock.close();
  }
  const { rows } = await admin.query("SELECT lock, balance FROM accounts ORDER BY lock");
  const lost = rows.map((row) => [row.lock, (tally.accepted.get(row.lock) ?? 0) - row.balance]);
  return { ...tally, lost: Object.fromEntries(lost), stale: (await admin.query(staleWrites)).rows };
}

test("a guarded table accepts no stale write and no write without a token, and loses no update", async () => {
  const { lost, stale, forgotten, refused, accepted } = await attackAll(true);
  const say = `with seed ${fuzzSeed}`;
  expect({ lost, stale, forgotten }, say).toEqual({ lost: { a: 0, b: 0 }, stale: [], forgotten: 0 });
  for (const name of names) expect(accepted.get(name), say).toBeGreaterThan(attempts / 50);
  expect(refused, say).toBeGreaterThan(attempts / 50);
});

test("the same attack on a table that is not guarded loses updates", async () => {
  const { lost, stale, forgotten } = await attackAll(false);
  expect(Math.max(...Object.values<number>(lost))).toBeGreaterThan(0);
  expect(stale.length).toBeGreaterThan(0);
  expect(forgotten).toBeGreaterThan(0);
});

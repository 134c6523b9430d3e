/**
 * Random clients write to guarded tables under locks of a few milliseconds, over connections that they share: some forget the
 * token, keep an old one, or are paused for longer than the ttl. No stale write may be accepted, at any isolation level.
 */
import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { createGuard, fenced, registerRead, removeGuard, type Transaction } from "@holdfast/mysql";
import { fuzzSeed, isNightly } from "@holdfast/testkit";
import mysqlWithCallbacks from "mysql2";
import mysql from "mysql2/promise";
import { expect, test } from "vitest";
import { serverOfFile } from "./servers.ts";

const { uri } = await serverOfFile();

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
const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(draw() * values.length)] as Value;

/** Runs a statement in a transaction of a client, and returns its rows. */
type Run = (text: string, values?: (string | number | null)[]) => Promise<mysql.RowDataPacket[]>;

/** A client: runs steps in a transaction, which is rolled back if one throws. */
type InTransaction = <Result>(step: (run: Run, transaction: Transaction) => Promise<Result>) => Promise<Result>;

/** Opens a pool of few connections at an isolation level, and the ways to hand over its transactions. */
function openClients(level: string): { clients: InTransaction[]; end(): Promise<void> } {
  const pool = mysqlWithCallbacks.createPool({ uri, connectionLimit: 3 });
  pool.on("connection", (connection) => connection.query(`SET SESSION TRANSACTION ISOLATION LEVEL ${level}`));
  const over =
    (given: (connection: mysqlWithCallbacks.PoolConnection, run: Run) => Transaction): InTransaction =>
    async (step) => {
      const connection = await new Promise<mysqlWithCallbacks.PoolConnection>((resolve, reject) => {
        pool.getConnection((error, opened) => (error ? reject(error) : resolve(opened)));
      });
      const query = connection.promise();
      const run: Run = async (text, values) => (await query.query<mysql.RowDataPacket[]>(text, values))[0];
      try {
        await query.beginTransaction();
        const result = await step(run, given(connection, run));
        await query.commit();
        return result;
      } catch (error) {
        await query.rollback();
        throw error;
      } finally {
        connection.release();
      }
    };
  const clients = [
    over((connection) => connection),
    over((connection) => connection.promise()),
    over((_, run) => (text) => run(text)),
  ];
  return { clients, end: () => pool.promise().end() };
}

/** The name of a lock, and a token of it. */
interface Held {
  readonly resources: readonly string[];
  readonly fence: number;
}

/** How a client gets its token into a transaction, and out of the session. */
const ways: Readonly<
  Record<string, (run: Run, transaction: Transaction, held: Held, work: () => Promise<void>) => Promise<void>>
> = {
  fenced: (_, transaction, held, work) => fenced(transaction, held, work),
  async registerRead(_, transaction, held, work) {
    await registerRead(transaction, held);
    await fenced(transaction, held, work);
  },
  async "plain SQL"(run, _, { resources: [name], fence }, work) {
    await run("SET @holdfast_fence = ?", [`{"${name}": ${fence}}`]);
    await work().finally(() => run("SET @holdfast_fence = NULL"));
  },
  forgetful: (_run, _transaction, _held, work) => work(),
};

const changeOfMind = new Error("the client changes its mind");

/** Why a transaction is rolled back: refusals of the guard, old snapshots and deadlocks. */
const refusals = ["LF409", "LF428", "40001"];

/** The accepted updates of each name, the accepted writes that showed no token, and the refused transactions. */
interface Tally {
  readonly accepted: Map<string, number>;
  forgotten: number;
  refused: number;
}

/** Reads a balance under a lock, and later writes one that is based on it: as an honest holder, or one of the others. */
async function attack(clients: InTransaction[], redlock: Redlock, tally: Tally, isGuarded: boolean): Promise<void> {
  const name = pick(names);
  const [reader, writer] = [pick(clients), pick(clients)];
  const lock = await redlock.acquire(name, { ttlMs, waitTimeoutMs: 60_000 });
  const log = "INSERT INTO events (lock_name, token, writes) VALUES (?, ?, ?)";
  const balance = await reader(async (run, transaction) => {
    if (draw() < 0.2) await run("SELECT * FROM accounts"); // takes a snapshot too early
    if (isGuarded) await registerRead(transaction, lock);
    await run(log, [name, lock.fence, 0]);
    const [row] = await run("SELECT balance FROM accounts WHERE lock_name = ?", [name]);
    return Number(row?.balance);
  });
  await sleep(draw() < 0.5 ? 0 : draw() * 4 * ttlMs); // often for longer than the ttl
  const way = draw() < 0.1 ? "forgetful" : pick(["fenced", "plain SQL", ...(isGuarded ? ["registerRead"] : [])]);
  await writer(async (run, transaction) => {
    await ways[way]?.(run, transaction, lock, async () => {
      const write = () => run("UPDATE accounts SET balance = ? WHERE lock_name = ?", [balance + 1, name]);
      if (draw() < 0.2) {
        await run("SAVEPOINT earlier");
        await write();
        await run("ROLLBACK TO earlier");
      }
      await write();
      await run(log, [name, lock.fence, 1]);
      if (draw() < 0.2) await sleep(draw() * 2 * ttlMs);
      if (draw() < 0.1) throw changeOfMind;
    });
  });
  if (way === "forgetful") tally.forgotten += 1;
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
async function attackAll(isGuarded: boolean) {
  const admin = await mysql.createConnection(uri);
  for (const statement of [
    "DROP TABLE IF EXISTS accounts, events",
    "CREATE TABLE accounts (lock_name VARCHAR(9) PRIMARY KEY, balance INT NOT NULL)",
    "CREATE TABLE events (id INT AUTO_INCREMENT PRIMARY KEY, lock_name VARCHAR(9), token BIGINT, writes INT)",
    "INSERT INTO accounts VALUES ('a', 0), ('b', 0)",
    ...createGuard({ tables: [{ table: "accounts", column: "lock_name" }] }),
    ...(isGuarded ? [] : removeGuard({ tables: [{ table: "accounts" }] })),
  ]) {
    await admin.query(statement);
  }
  const pools = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].map(openClients);
  const clients = pools.flatMap((pool) => pool.clients);
  const redlock = new Redlock([memoryNode()]);
  const tally: Tally = { accepted: new Map(), forgotten: 0, refused: 0 };
  let left = attempts;
  const worker = async () => {
    while (left-- > 0) {
      await attack(clients, redlock, tally, isGuarded).catch((error) => {
        const isKnown = error === changeOfMind || refusals.includes(error.sqlState) || error.errno === 1020;
        if (!isKnown) throw error;
        tally.refused += Number(error !== changeOfMind && error.sqlState.startsWith("LF"));
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: 8 }, worker));
    const [rows] = await admin.query<mysql.RowDataPacket[]>("SELECT * FROM accounts ORDER BY lock_name");
    const lost = rows.map((row) => [row.lock_name, (tally.accepted.get(row.lock_name) ?? 0) - row.balance]);
    return { ...tally, lost: Object.fromEntries(lost), stale: (await admin.query(staleWrites))[0] };
  } finally {
    for (const { end } of pools) await end();
    await admin.end();
    await redlock.close();
  }
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
  expect(stale).not.toEqual([]);
  expect(forgotten).toBeGreaterThan(0);
});

import { type MysqlNode, mysqlNode } from "@holdfast/mysql";
import { describeHolds, type HoldingDatabase, holdingTests } from "@holdfast/testkit/describe-holds";
import mysqlWithCallbacks from "mysql2";
import mysql from "mysql2/promise";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const { uri } = await serverOfFile({ settings: { innodb_lock_wait_timeout: 5 } });
let pool: mysql.Pool;
let table: string;

/** Runs a step in a transaction. */
async function inTransaction<T>(step: (connection: mysql.PoolConnection) => Promise<T>, level = "READ"): Promise<T> {
  const connection = await pool.getConnection();
  try {
    if (level !== "READ") await connection.query(`SET TRANSACTION ${level}`);
    await connection.query("START TRANSACTION");
    const result = await step(connection);
    await connection.query("COMMIT");
    return result;
  } finally {
    connection.release();
  }
}

/** Ends the claims of all owners now, and locks no other row. */
async function expire(): Promise<void> {
  const [rows] = await pool.query<mysql.RowDataPacket[]>(
    `SELECT name, sharers FROM \`${table}\` WHERE owner IS NOT NULL`,
  );
  for (const { name, sharers } of rows) {
    const ended = sharers && String(sharers).replaceAll(/\[\d+,/g, "[1,");
    const change = `UPDATE \`${table}\` SET until = 1, sharers = ?, version = version + 1 WHERE name = ?`;
    await pool.query(change, [ended, name]);
  }
}

const levels = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

const database: HoldingDatabase<mysql.PoolConnection, MysqlNode> = {
  async open() {
    table = await freshTable(uri);
    pool = mysql.createPool({ uri, connectionLimit: 20 });
    return mysqlNode(pool, { table });
  },
  close: () => pool.end(),
  inTransaction,
  query: async (statement) => (await pool.query<mysql.RowDataPacket[]>(statement))[0],
  expire,
  begins: {
    ", in a READ ONLY transaction": "READ ONLY",
    ...Object.fromEntries(levels.slice(0, 3).map((level) => [`, at ${level}`, `ISOLATION LEVEL ${level}`])),
  },
  createWritten: "CREATE TABLE written (id INT AUTO_INCREMENT PRIMARY KEY, writer TEXT)",
  pausedHolder: new URL("./fixtures/paused-holder.ts", import.meta.url),
  pausedHolderArguments: () => [uri, table],
};
const current = holdingTests(database);
describeHolds(database, current);

describe("holds()", () => {
  test("holds() at SERIALIZABLE keeps others out past the ttl, which the holder cannot extend meanwhile", async () => {
    const claim = { resources: ["short"], owner: "me" };
    const grant = await current.node.acquire({ ...claim, ttlMs: 1_500, fenceHint: 1, timeoutMs: 5_000 });
    expect(grant).toEqual({ granted: true, fence: 1 });
    await inTransaction(async (connection) => {
      expect(await current.node.holds(connection, { ...claim, fence: 1 })).toBe(true);
      await expect.poll(async () => (await current.node.inspect("short")).owner).toBeNull();
      for (const _ of [1, 2]) expect(await current.redlock.tryAcquire("short")).toBeNull();
    }, "ISOLATION LEVEL SERIALIZABLE");
    expect(await current.redlock.tryAcquire("short")).not.toBeNull();
  });

  test.each(levels)("holds() at %s keeps nobody from neighbours, which are new or were used before", async (level) => {
    const names = ["invoice:4", "invoice:40", "invoice:410", "invoice:419", "invoice:420", "invoice:43"];
    const old = names.filter((_, index) => index % 2 === 0);
    for (const resource of old) await (await current.redlock.acquire(resource)).release();
    await inTransaction(async (connection) => {
      expect(await current.node.holds(connection, current.lock)).toBe(true);
      for (const resource of names) expect(await current.redlock.tryAcquire(resource), resource).not.toBeNull();
      expect(await current.redlock.tryAcquire(["invoice:3", "invoice:5"])).not.toBeNull();
    }, `ISOLATION LEVEL ${level}`);
  });

  test.each(levels.slice(0, 3))(
    "holds() after a snapshot at %s is never true for a lock that another owner has had since",
    async (level) => {
      const answer = inTransaction(async (connection) => {
        await connection.query(`SELECT COUNT(*) FROM \`${table}\``); // the snapshot
        await expire();
        const next = await current.redlock.tryAcquire("invoice:42");
        await next?.release();
        expect(next).not.toBeNull();
        return current.node.holds(connection, { ...current.lock, resources: ["invoice:42"] });
      }, `ISOLATION LEVEL ${level}`);
      // MariaDB 11 rejects a locking read of what has changed since the snapshot.
      expect(await answer.catch(({ errno }) => errno)).toBeOneOf([false, 1020]);
    },
  );

  test("holds() lasts past ROLLBACK TO a savepoint that came after it", async () => {
    await inTransaction(async (connection) => {
      expect(await current.node.holds(connection, current.lock)).toBe(true);
      await connection.query("SAVEPOINT late");
      await connection.query("ROLLBACK TO late");
      await expire();
      expect(await current.redlock.tryAcquire("invoice:42")).toBeNull();
    });
    expect(await current.redlock.tryAcquire("invoice:42")).not.toBeNull();
  });
});

describe("transactions", () => {
  test("holds() takes a connection of either interface, and a function that runs statements in a transaction", async () => {
    const plain = mysqlWithCallbacks.createConnection(uri);
    onTestFinished(() => plain.destroy());
    await plain.promise().beginTransaction();
    expect(await current.node.holds(plain, current.lock)).toBe(true);
    await plain.promise().rollback();
    await inTransaction(async (connection) => {
      const run = async (text: string) => (await connection.query<mysql.RowDataPacket[]>(text))[0];
      expect(await current.node.holds(run, current.lock)).toBe(true);
      const wrapping = (text: string) => run(text).catch((cause) => Promise.reject(new Error("failed", { cause })));
      expect(await current.node.holds(wrapping, current.lock)).toBe(true);
      expect(await current.node.holds(wrapping, { ...current.lock, owner: "another" })).toBe(false);
      // As Prisma does.
      const asPrisma = async (text: string) => {
        const rows = await run(text).catch(({ errno }) => {
          throw Object.assign(new Error("failed"), {
            meta: { driverAdapterError: { cause: { originalCode: `${errno}` } } },
          });
        });
        return Array.isArray(rows) ? rows.map((row) => Object.values(row).map((value) => Buffer.from(`${value}`))) : [];
      };
      expect(await current.node.holds(asPrisma, current.lock)).toBe(true);
    });
  });

  test("holds() refuses anything but a transaction", async () => {
    const connection = await pool.getConnection();
    onTestFinished(() => connection.release());
    const alone = async (text: string) => (await pool.query<mysql.RowDataPacket[]>(text))[0];
    for (const given of [pool, connection, alone, {}, undefined, "text"]) {
      await expect(current.node.holds(given as never, current.lock)).rejects.toThrow(
        /^the transaction must be a connection in a transaction, or a function .* in one, not /,
      );
    }
    await connection.beginTransaction();
    const whole = (text: string) => connection.query({ sql: text }).then((rows) => ({ rows }));
    await expect(current.node.holds(whole as never, current.lock)).rejects.toThrow("anything but an array of rows");
    await connection.rollback();
    const broken = async () => Promise.reject(new Error("the network is down"));
    await expect(current.node.holds(broken, current.lock)).rejects.toThrow(/^the network is down$/);
  });
});

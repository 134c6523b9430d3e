import { fork } from "node:child_process";
import { once } from "node:events";
import { type Lock, Redlock } from "@holdfast/core";
import { mysqlNode } from "@holdfast/mysql";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import mysqlWithCallbacks from "mysql2";
import mysql from "mysql2/promise";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const { uri } = await serverOfFile({ settings: { innodb_lock_wait_timeout: 5 } });
let pool: mysql.Pool;
let table: string;
let redlock: Redlock;
let node: ReturnType<typeof mysqlNode>;
let lock: Lock;

beforeEach(async () => {
  table = await freshTable(uri);
  pool = mysql.createPool({ uri, connectionLimit: 20 });
  node = mysqlNode(pool, { table });
  redlock = new Redlock([node], { nodeTimeoutMs: 5_000 });
  lock = await redlock.acquire(["invoice:41", "invoice:42"], { ttlMs: 60_000 });
});
afterEach(async () => {
  await redlock.close();
  await pool.end();
});

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

/** Resolves when a step has been denied a lock several times. */
async function denials(count: number, acquire: () => Promise<Lock | null>): Promise<void> {
  for (let denied = 0; denied < count; denied++) expect(await acquire()).toBeNull();
}

const others: [string, () => Promise<Partial<Lock>>][] = [
  ["with another owner", async () => ({ owner: "another" })],
  ["with an older fence", async () => ({ fence: lock.fence - 1 })],
  ["with a newer fence", async () => ({ fence: lock.fence + 1 })],
  ["on more resources", async () => ({ resources: [...lock.resources, "more"] })],
  ["that was released", () => lock.release().then(() => ({}))],
  ["whose ttl has ended", () => expire().then(() => ({}))],
];

const levels = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

describe("holds()", () => {
  test("holds() resolves with whether all resources are held, under the owner and the fence of the lock", async () => {
    expect(await inTransaction((connection) => node.holds(connection, lock))).toBe(true);
    const { owner, fence } = lock;
    const part = { resources: ["invoice:42"], owner, fence };
    expect(await inTransaction((connection) => node.holds(connection, part))).toBe(true);
  });

  test.each(others)("holds() resolves with false for a lock %s", async (_, change) => {
    const { resources, owner, fence } = lock;
    const other = { resources, owner, fence, ...(await change()) };
    expect(await inTransaction((connection) => node.holds(connection, other))).toBe(false);
  });

  const ends: [string, () => Promise<void>, level?: string][] = [
    ["the lock is released meanwhile", () => lock.release()],
    ["the ttl ends meanwhile, in a READ ONLY transaction", expire, "READ ONLY"],
    ...levels
      .slice(0, 3)
      .map((level): [string, () => Promise<void>, string] => [
        `the ttl ends meanwhile, at ${level}`,
        expire,
        `ISOLATION LEVEL ${level}`,
      ]),
  ];
  test.each(ends)("holds() keeps others out until the transaction ends, although %s", async (_, end, level) => {
    const rival = new Redlock([node], { waitTimeoutMs: 30_000, retryDelayMaxMs: 30, nodeTimeoutMs: 5_000 });
    let waiting: Promise<Lock> | undefined;
    const order: string[] = [];
    await inTransaction(async (connection) => {
      expect(await node.holds(connection, lock)).toBe(true);
      await end();
      for (const resource of lock.resources) await denials(1, () => rival.tryAcquire(resource));
      waiting = rival.acquire(lock.resources).finally(() => order.push("the rival has the lock"));
      await denials(3, () => rival.tryAcquire(lock.resources));
      order.push("the transaction ends");
    }, level);
    const next = (await waiting) as Lock;
    expect(order).toEqual(["the transaction ends", "the rival has the lock"]);
    expect(next.fence).toBeGreaterThan(lock.fence);
    await next.release();
  });

  test("holds() at SERIALIZABLE keeps others out past the ttl, which the holder cannot extend meanwhile", async () => {
    const claim = { resources: ["short"], owner: "me" };
    const grant = await node.acquire({ ...claim, ttlMs: 1_500, fenceHint: 1, timeoutMs: 5_000 });
    expect(grant).toEqual({ granted: true, fence: 1 });
    await inTransaction(async (connection) => {
      expect(await node.holds(connection, { ...claim, fence: 1 })).toBe(true);
      await expect.poll(async () => (await node.inspect("short")).owner).toBeNull();
      await denials(2, () => redlock.tryAcquire("short"));
    }, "ISOLATION LEVEL SERIALIZABLE");
    expect(await redlock.tryAcquire("short")).not.toBeNull();
  });

  test("holds() lets the holder extend and release the lock during the transaction", async () => {
    await inTransaction(async (connection) => {
      expect(await node.holds(connection, lock)).toBe(true);
      await lock.extend({ ttlMs: 120_000 });
      expect(lock.remainingMs()).toBeGreaterThan(60_000);
      const { owner, fence } = lock;
      const one = { resources: ["invoice:41"], owner, ttlMs: 120_000, fence, rejoin: false, timeoutMs: 1_000 };
      expect(await node.extend(one)).toEqual({ held: true, fence });
      await lock.release();
    });
    expect((await node.inspect("invoice:42")).owner).toBeNull();
  });

  test.each(levels)("holds() at %s keeps nobody from neighbours, which are new or were used before", async (level) => {
    const names = ["invoice:4", "invoice:40", "invoice:410", "invoice:419", "invoice:420", "invoice:43"];
    const old = names.filter((_, index) => index % 2 === 0);
    for (const resource of old) await (await redlock.acquire(resource)).release();
    await inTransaction(async (connection) => {
      expect(await node.holds(connection, lock)).toBe(true);
      for (const resource of names) expect(await redlock.tryAcquire(resource), resource).not.toBeNull();
      expect(await redlock.tryAcquire(["invoice:3", "invoice:5"])).not.toBeNull();
    }, `ISOLATION LEVEL ${level}`);
  });

  test("holds() keeps the lock from a node that rejoins, until the transaction ends", async () => {
    const { resources, fence } = lock;
    const request = { resources, owner: "late", ttlMs: 1_000, fence, rejoin: true, timeoutMs: 200 };
    await inTransaction(async (connection) => {
      await node.holds(connection, lock);
      await expire();
      expect(await node.extend(request)).toEqual({ held: false, rejoined: false });
    });
    expect(await node.extend(request)).toEqual({ held: false, rejoined: true });
  });

  test.each(levels.slice(0, 3))(
    "holds() after a snapshot at %s is never true for a lock that another owner has had since",
    async (level) => {
      const answer = inTransaction(async (connection) => {
        await connection.query(`SELECT COUNT(*) FROM \`${table}\``); // the snapshot
        await expire();
        const next = await redlock.tryAcquire("invoice:42");
        await next?.release();
        expect(next).not.toBeNull();
        return node.holds(connection, { ...lock, resources: ["invoice:42"] });
      }, `ISOLATION LEVEL ${level}`);
      // MariaDB 11 rejects a locking read of what has changed since the snapshot.
      expect(await answer.catch(({ errno }) => errno)).toBeOneOf([false, 1020]);
    },
  );

  test("holds() lasts past ROLLBACK TO a savepoint that came after it", async () => {
    await inTransaction(async (connection) => {
      expect(await node.holds(connection, lock)).toBe(true);
      await connection.query("SAVEPOINT late");
      await connection.query("ROLLBACK TO late");
      await expire();
      await denials(1, () => redlock.tryAcquire("invoice:42"));
    });
    expect(await redlock.tryAcquire("invoice:42")).not.toBeNull();
  });
});

describe("transactions", () => {
  test("holds() takes a connection of either interface, and a function that runs statements in a transaction", async () => {
    const plain = mysqlWithCallbacks.createConnection(uri);
    onTestFinished(() => plain.destroy());
    await plain.promise().beginTransaction();
    expect(await node.holds(plain, lock)).toBe(true);
    await plain.promise().rollback();
    await inTransaction(async (connection) => {
      const run = async (text: string) => (await connection.query<mysql.RowDataPacket[]>(text))[0];
      expect(await node.holds(run, lock)).toBe(true);
      const wrapping = (text: string) => run(text).catch((cause) => Promise.reject(new Error("failed", { cause })));
      expect(await node.holds(wrapping, lock)).toBe(true);
      expect(await node.holds(wrapping, { ...lock, owner: "another" })).toBe(false);
      // As Prisma does.
      const asPrisma = async (text: string) => {
        const rows = await run(text).catch(({ errno }) => {
          throw Object.assign(new Error("failed"), {
            meta: { driverAdapterError: { cause: { originalCode: `${errno}` } } },
          });
        });
        return Array.isArray(rows) ? rows.map((row) => Object.values(row).map((value) => Buffer.from(`${value}`))) : [];
      };
      expect(await node.holds(asPrisma, lock)).toBe(true);
    });
  });

  test("holds() refuses anything but a transaction", async () => {
    const connection = await pool.getConnection();
    onTestFinished(() => connection.release());
    const alone = async (text: string) => (await pool.query<mysql.RowDataPacket[]>(text))[0];
    for (const given of [pool, connection, alone, {}, undefined, "text"]) {
      await expect(node.holds(given as never, lock)).rejects.toThrow(
        /^the transaction must be a connection in a transaction, or a function .* in one, not /,
      );
    }
    await connection.beginTransaction();
    const whole = (text: string) => connection.query({ sql: text }).then((rows) => ({ rows }));
    await expect(node.holds(whole as never, lock)).rejects.toThrow("anything but an array of rows");
    await connection.rollback();
    const broken = async () => Promise.reject(new Error("the network is down"));
    await expect(node.holds(broken, lock)).rejects.toThrow(/^the network is down$/);
  });
});

describe("holds() of shared locks", () => {
  const shared = { mode: "shared", ttlMs: 60_000 } as const;
  let readers: Lock[];
  beforeEach(async () => {
    await lock.release();
    readers = await Promise.all([1, 2].map(() => new Redlock([node]).acquire("invoice:42", shared)));
  });

  const ends: [string, () => Promise<void>][] = [
    ["their ttl ends", expire],
    ["they are released", async () => void (await Promise.all(readers.map((reader) => reader.release())))],
  ];
  test.each(ends)(
    "holds() lets several readers hold, and keeps a writer out until the last one ends, although %s",
    async (_, end) => {
      const writer = new Redlock([node], { waitTimeoutMs: 30_000, retryDelayMaxMs: 30, nodeTimeoutMs: 5_000 });
      let waiting: Promise<Lock> | undefined;
      let isWriting = false;
      await inTransaction(async (first) => {
        await inTransaction(async (second) => {
          for (const [index, connection] of [first, second].entries()) {
            expect(await node.holds(connection, readers[index] as Lock)).toBe(true);
          }
          await end();
          await denials(1, () => writer.tryAcquire("invoice:42"));
        });
        waiting = writer.acquire("invoice:42").finally(() => {
          isWriting = true;
        });
        await denials(3, () => writer.tryAcquire("invoice:42"));
        expect(isWriting).toBe(false);
      });
      const next = (await waiting) as Lock;
      expect(next.fence).toBeGreaterThan(Math.max(...readers.map(({ fence }) => fence)));
      await next.release();
    },
  );

  test("holds() does not keep further readers from joining", async () => {
    await inTransaction(async (connection) => {
      expect(await node.holds(connection, readers[0] as Lock)).toBe(true);
      const reader = await new Redlock([node]).acquire("invoice:42", shared);
      expect(reader.fence).toBe(readers[0]?.fence);
      await reader.extend();
      await inTransaction(async (other) => expect(await node.holds(other, reader)).toBe(true));
      await reader.release();
    });
  });

  test("holds() resolves with true for a reader although another one has raised the counter since", async () => {
    const [first] = readers as [Lock];
    const both = await new Redlock([node]).acquire(["invoice:42", "new"], shared);
    expect(both.fence).toBeGreaterThan(first.fence);
    expect(await inTransaction((connection) => node.holds(connection, first))).toBe(true);
    expect(await inTransaction((connection) => node.holds(connection, both))).toBe(true);
  });

  test("holds() resolves with false for a reader that has ended, and for one whose owner joined later", async () => {
    const [first, second] = readers as [Lock, Lock];
    await first.release();
    expect(await inTransaction((connection) => node.holds(connection, first))).toBe(false);
    expect(await inTransaction((connection) => node.holds(connection, second))).toBe(true);
    await expire();
    expect(await inTransaction((connection) => node.holds(connection, second))).toBe(false);
    await (await redlock.acquire("invoice:42")).release(); // a writer
    const { resources, owner } = first;
    const again = { resources, owner, ttlMs: 60_000, fenceHint: 1, timeoutMs: 1_000, shared: true };
    expect(await node.acquire(again)).toMatchObject({ granted: true }); // a late copy
    expect(await inTransaction((connection) => node.holds(connection, first))).toBe(false);
  });
});

test("a process that is paused across its ttl, in a transaction that holds the lock, commits before its rival locks", async () => {
  await pool.query("CREATE TABLE written (id INT AUTO_INCREMENT PRIMARY KEY, writer TEXT)");
  await lock.release();
  const program = await bundleProgram(new URL("./fixtures/paused-holder.ts", import.meta.url));
  const holder = fork(program, [uri, table, "1500"], { execArgv: [] });
  try {
    const [held] = (await once(holder, "message")) as [{ fence: number; holds: boolean }];
    expect(held.holds).toBe(true);
    holder.kill("SIGSTOP");
    await expect.poll(async () => (await node.inspect("invoice:42")).owner).toBeNull(); // the ttl has ended
    const rival = new Redlock([node], { waitTimeoutMs: 60_000, retryDelayMaxMs: 30, nodeTimeoutMs: 5_000 });
    const waiting = rival.acquire("invoice:42").then(async (next) => {
      await pool.query("INSERT INTO written (writer) VALUES ('second')");
      return next;
    });
    await denials(3, () => rival.tryAcquire("invoice:42"));
    holder.kill("SIGCONT");
    holder.send("go on");
    const [later] = (await once(holder, "message")) as [{ remainingMs: number; holdsLater: boolean }];
    expect(later).toEqual({ remainingMs: 0, holdsLater: false });
    expect((await waiting).fence).toBeGreaterThan(held.fence);
    const [rows] = await pool.query<mysql.RowDataPacket[]>("SELECT writer FROM written ORDER BY id");
    expect(rows.map(({ writer }) => writer)).toEqual(["first", "second"]);
  } finally {
    holder.kill("SIGKILL");
  }
});

import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { ConfigurationError, EpochError, type LockNode, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import {
  createTable,
  type MysqlClient,
  type MysqlNodeOptions,
  type MysqlPool,
  type MysqlQuery,
  mysqlNode,
} from "@holdfast/mysql";
import { differenceInHistories } from "@holdfast/testkit";
import mysqlWithCallbacks from "mysql2";
import mysql from "mysql2/promise";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const { uri } = await serverOfFile();
const pool = mysql.createPool(uri);
afterAll(() => pool.end());

let table: string;
let node: ReturnType<typeof mysqlNode>;
beforeEach(async () => {
  table = await freshTable(uri);
  node = mysqlNode(pool, { table });
});

const timeoutMs = 5_000;
const odd = "prüfer 🔒 'x\"\\\ud800\u0000%_`";

function claim(of: LockNode, owner: string, resources: readonly string[] = ["r"], more = {}) {
  return of.acquire({ resources, owner, ttlMs: 60_000, fenceHint: 1, timeoutMs, ...more });
}

/** Opens a connection for one test. */
async function open(options: mysql.ConnectionOptions = {}): Promise<mysql.Connection> {
  const connection = await mysql.createConnection({ uri, ...options });
  onTestFinished(() => connection.end().catch(() => {}));
  return connection;
}

function poolWith(options: mysql.PoolOptions): mysql.Pool {
  const own = mysql.createPool({ uri, ...options });
  onTestFinished(() => own.end());
  return own;
}

describe("arguments", () => {
  const refusals: [string, unknown, unknown, string][] = [
    ["an unknown option", pool, { tabel: "locks" }, "tabel is not an option of mysqlNode: did you mean table?"],
    ["an empty table name", pool, { table: "" }, "table must have 1 to 64 characters"],
    ["a long database name", pool, { database: "d".repeat(65) }, "database must have 1 to 64 characters"],
    ["a table name with a NUL", pool, { table: "a\0" }, "table must have"],
    ["a name that is no string", pool, { name: 1 }, "name must be a string"],
    ["a flag that is none", pool, { verifyServer: "yes" }, "verifyServer must be a boolean"],
    ["a URL", uri, {}, "client must be a pool or a connection of mysql2"],
    ["nothing", undefined, {}, "client must be a pool or a connection of mysql2"],
    ["a PoolCluster", mysql.createPoolCluster(), {}, "client must be a pool or a connection of mysql2"],
    ["a part of one", mysql.createPoolCluster().of("*"), {}, "client must be a pool or a connection of mysql2"],
    [
      "a part with callbacks",
      mysqlWithCallbacks.createPoolCluster().of("*"),
      {},
      "client must be a pool or a connection",
    ],
  ];
  test.each(refusals)("mysqlNode() refuses %s", (_, client, options, message) => {
    expect(() => mysqlNode(client as MysqlClient, options as MysqlNodeOptions)).toThrow(message);
  });

  test("createTable() returns a statement that may run again, also at once, and quotes any name", async () => {
    const options = { database: "holdfast", table: "odd ` \" ' name" };
    await Promise.all(Array.from({ length: 5 }, () => pool.query(createTable(options))));
    expect(await claim(mysqlNode(pool, options), "a")).toEqual({ granted: true, fence: 1 });
  });
});

describe("clients", () => {
  test("mysqlNode() locks over a connection of either interface, and a pool with callbacks", async () => {
    const plain = mysqlWithCallbacks.createConnection(uri);
    const plainPool = mysqlWithCallbacks.createPool(uri);
    onTestFinished(() => {
      plain.destroy();
      plainPool.end();
    });
    for (const [index, client] of [await open(), plain, plainPool].entries()) {
      const own = mysqlNode(client, { table });
      const claims = ["a", "b", "c"].map((resource) => claim(own, "a", [`${resource}${index}`]));
      expect(await Promise.all(claims)).toEqual(Array(3).fill({ granted: true, fence: 1 }));
    }
  });

  const sessions: [string, mysql.PoolOptions, string][] = [
    [
      "ANSI quotes, and backslashes that escape nothing",
      {},
      "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'",
    ],
    ["no strict mode", {}, "sql_mode = ''"],
    ["few rows in a result", {}, "sql_select_limit = 1"],
    ["a time zone, whose clock is behind", {}, "time_zone = '-11:30'"],
    ["a connection in latin1", { charset: "LATIN1_SWEDISH_CI" }, "collation_connection = latin1_german1_ci"],
    ["no foreign keys and no unique checks", {}, "foreign_key_checks = 0, unique_checks = 0"],
    ...["READ-UNCOMMITTED", "READ-COMMITTED", "SERIALIZABLE"].map((level): [string, mysql.PoolOptions, string] => [
      `isolation ${level}`,
      {},
      `transaction_isolation = '${level}'`,
    ]),
    [
      "conversions of values",
      { supportBigNumbers: true, bigNumberStrings: true, typeCast: () => "x" },
      "sql_mode = ''",
    ],
    [
      "nested rows, objects, and flags",
      { nestTables: true, flags: ["-FOUND_ROWS"], rowsAsArray: false },
      "sql_mode = ''",
    ],
  ];
  test.each(sessions)("mysqlNode() locks with %s", async (_, options, settings) => {
    const own = poolWith({ ...options, connectionLimit: 1 });
    const isKnown = await pool.query(`SELECT @@session.${settings.split(" ")[0]}`).then(
      () => true,
      () => false,
    );
    await own.query(`SET SESSION ${isKnown ? settings : settings.replace("transaction_isolation", "tx_isolation")}`);
    const other = mysqlNode(own, { table });
    const resources = [odd, "second"];
    const fence = 5_000_000_000; // more than 32 bits
    expect(await claim(other, odd, resources, { fenceHint: fence })).toEqual({ granted: true, fence, uniform: true });
    expect(await claim(node, "rival", resources)).toMatchObject({
      granted: false,
      holder: odd,
      heldResources: resources,
    });
    expect(
      await other.extend({ resources: [odd], owner: odd, ttlMs: 90_000, fence, rejoin: false, timeoutMs }),
    ).toEqual({
      held: true,
      fence,
    });
    const { owner, remainingMs, fence: counter } = await other.inspect(odd);
    expect([owner, counter]).toEqual([odd, fence]);
    expect(Math.abs(Number(remainingMs) - 90_000)).toBeLessThan(10_000);
    expect((await other.scan({ timeoutMs })).claims.map(({ resource }) => resource).sort()).toEqual(
      [...resources].sort(),
    );
    expect(await claim(other, "reader", ["shared"], { shared: true })).toEqual({ granted: true, fence: 1 });
    expect(await claim(node, "reader 2", ["shared"], { shared: true })).toEqual({ granted: true, fence: 1 });
    expect(await other.release({ resources, owner: odd, timeoutMs })).toEqual({ released: true });
    expect(await claim(node, "rival", resources)).toMatchObject({ granted: true, fence: fence + 1 });
  });

  test("acquire() and holds() know the floor where MariaDB takes an empty string for null", async () => {
    const own = poolWith({ connectionLimit: 1 });
    const isKnown = await own.query("SET SESSION sql_mode = 'EMPTY_STRING_IS_NULL'").then(
      () => true,
      () => false,
    );
    const other = mysqlNode(isKnown ? own : pool, { table });
    await other.raiseFloor({ floor: 1_000, epoch: 5, timeoutMs });
    await expect(claim(other, "a")).rejects.toThrow(EpochError);
    expect(await claim(other, "a", ["r"], { epoch: 5 })).toEqual({ granted: true, fence: 1_001 });
    const connection = await open();
    if (isKnown) await connection.query("SET SESSION sql_mode = 'EMPTY_STRING_IS_NULL'");
    await connection.beginTransaction();
    expect(await other.holds(connection, { resources: ["r"], owner: "a", fence: 1_001 })).toBe(true);
    await connection.rollback();
  });

  test("a connection that does not answer in ten seconds is closed, and later calls reject at once", async () => {
    const connection = await open();
    const single = mysqlNode(connection, { table });
    await claim(single, "a");
    const blocking = await open();
    await blocking.beginTransaction();
    await blocking.query(`SELECT * FROM \`${table}\` WHERE name = 'r' FOR UPDATE`);
    const extension = { resources: ["r"], owner: "a", ttlMs: 60_000, fence: 1, rejoin: false, timeoutMs };
    await expect(single.extend(extension)).rejects.toThrow();
    await expect(single.inspect("r")).rejects.toThrow(/closed/);
    await blocking.rollback();
  });

  test("acquire() refuses a client whose statements do not commit, and claims nothing", async () => {
    const own = poolWith({ connectionLimit: 1 });
    await own.query("SET autocommit = 0");
    await expect(claim(mysqlNode(own, { table }), "a")).rejects.toThrow("autocommit is off");
    await own.query("SET autocommit = 0");
    const released = mysqlNode(own, { table }).release({ resources: ["r"], owner: "a", timeoutMs: 1 });
    await expect(released).rejects.toThrow(ConfigurationError);
    expect((await claim(node, "b")).granted).toBe(true);

    const connection = await open();
    const single = mysqlNode(connection, { table });
    await connection.query("SET autocommit = 0");
    await expect(claim(single, "a", ["s"])).rejects.toThrow(ConfigurationError);
    await connection.query("SET autocommit = 1");
    await connection.beginTransaction();
    await expect(claim(single, "a", ["s"])).rejects.toThrow("the client has a transaction open");
    await connection.commit();
    expect(await claim(single, "a", ["s"])).toEqual({ granted: true, fence: 1 });
  });

  test("acquire() is not sent after its timeout, when all connections of the pool were in use", async () => {
    const own = poolWith({ connectionLimit: 1 });
    const busy = await own.getConnection();
    const late = claim(mysqlNode(own, { table }), "a", ["r"], { timeoutMs: 20 });
    setTimeout(() => busy.release(), 60);
    await expect(late).rejects.toThrow("no connection was free within 20 ms");
    expect(await claim(node, "b")).toEqual({ granted: true, fence: 1 });
  });
});

describe("locked rows", () => {
  /** Locks rows in a transaction until the returned function is called. */
  async function lockRows(where: string): Promise<() => Promise<unknown>> {
    const connection = await open();
    await connection.beginTransaction();
    await connection.query(`SELECT * FROM \`${table}\` WHERE ${where} FOR UPDATE`);
    return () => connection.rollback();
  }

  test("acquire() is denied while a transaction keeps the row locked, and rejoining is not", async () => {
    await claim(node, "a");
    await node.release({ resources: ["r"], owner: "a", timeoutMs });
    const unlock = await lockRows("name = 'r'");
    const denied = { granted: false, blockedBy: "a transaction that called holds() or locks the table" };
    expect(await claim(node, "b", ["r"], { timeoutMs: 1_000 })).toEqual(denied);
    const rejoin = {
      resources: ["r"],
      owner: "b",
      ttlMs: 60_000,
      fence: 5,
      rejoin: true,
      timeoutMs: 1_000,
      shared: true,
    };
    expect(await node.extend(rejoin)).toEqual({ held: false, rejoined: false });
    const waiting = claim(node, "b");
    await unlock();
    expect(await waiting).toEqual({ granted: true, fence: 2 });
  });

  test("release() and extend() wait for a transaction that has locked the row", async () => {
    await claim(node, "a");
    const unlock = await lockRows("name = 'r'");
    const extended = node.extend({ resources: ["r"], owner: "a", ttlMs: 60_000, fence: 1, rejoin: false, timeoutMs });
    const released = node.release({ resources: ["r"], owner: "a", timeoutMs });
    const both = { owner: "a", ttlMs: 60_000, fence: 1, rejoin: false, timeoutMs: 100, shared: true };
    await expect(node.extend({ ...both, resources: ["r"] })).rejects.toThrow(/gave up|no connection/); // it is held
    await unlock();
    expect(await Promise.all([extended.then(() => true), released])).toEqual([true, { released: true }]);
  });

  test("release() goes on after the server has ended its wait for a row", async () => {
    const own = poolWith({ connectionLimit: 1 });
    await own.query("SET innodb_lock_wait_timeout = 1");
    await claim(node, "a");
    const unlock = await lockRows("name = 'r'");
    const failures: unknown[] = [];
    const unlocking: MysqlPool = {
      async getConnection() {
        const connection = await own.getConnection();
        const query = (options: MysqlQuery) =>
          connection.query(options).catch(async (error) => {
            failures.push(error.errno);
            await unlock();
            throw error;
          });
        return { query, release: () => connection.release(), destroy: () => connection.destroy() };
      },
    };
    const released = mysqlNode(unlocking, { table }).release({ resources: ["r"], owner: "a", timeoutMs });
    expect(await released).toEqual({ released: true });
    expect(failures).toEqual([1205]);
  });

  test.each([
    ["guards", "name LIKE '\t%'"],
    ["claims", "name NOT LIKE '\t%'"],
    ["the floor", "name = ''"],
  ])("acquire() restores rows of %s that somebody has deleted", async (_, where) => {
    await claim(node, "a", ["r", "s"], { fenceHint: 40 });
    await node.release({ resources: ["r", "s"], owner: "a", timeoutMs });
    await pool.query(`DELETE FROM \`${table}\` WHERE ${where}`);
    expect((await claim(node, "b", ["r", "t"])).granted).toBe(true);
    expect((await claim(node, "b", ["s"], { shared: true })).granted).toBe(true);
    expect((await claim(node, "c", ["r"])).granted).toBe(false);
  });
});

describe("claims that look first", () => {
  /** Returns a node that does something else after it has looked at its first request, before it writes. */
  function interrupted(meanwhile: () => Promise<unknown>, over = pool) {
    let step: (() => Promise<unknown>) | undefined = meanwhile;
    const client: MysqlPool = {
      async getConnection() {
        const connection = await over.getConnection();
        const query = async (options: MysqlQuery) => {
          const isWrite = options.sql.includes("INSERT INTO");
          const now = isWrite ? step : undefined;
          if (isWrite) step = undefined;
          await now?.();
          return connection.query(options);
        };
        return { query, release: () => connection.release(), destroy: () => connection.destroy() };
      },
    };
    return mysqlNode(client, { table });
  }

  const shapes: [string, string[], object][] = [
    ["a new name", ["new"], {}],
    ["a name", ["r"], {}],
    ["several names", ["new", "r", "s"], {}],
    ["a shared name", ["r"], { shared: true }],
  ];
  beforeEach(async () => {
    await claim(node, "a", ["r", "s"]);
    await node.release({ resources: ["r", "s"], owner: "a", timeoutMs });
  });

  test.each(shapes)(
    "acquire() of %s is denied if another client gets one of them meanwhile",
    async (_, names, more) => {
      const resource = names[0] as string;
      const late = interrupted(() => claim(node, "other", [resource]));
      expect(await claim(late, "a", names, more)).toMatchObject({ granted: false, holder: "other" });
      expect((await node.inspect(resource)).owner).toBe("other");
    },
  );

  test.each(shapes)("acquire() of %s obeys a floor and an epoch that are raised meanwhile", async (_, names, more) => {
    const floored = interrupted(() => node.raiseFloor({ floor: 500, epoch: 0, timeoutMs }));
    expect(await claim(floored, "a", names, more)).toMatchObject({ granted: true, fence: 501 });
    await node.release({ resources: names, owner: "a", timeoutMs });
    const refused = interrupted(() => node.raiseFloor({ floor: 0, epoch: 4, timeoutMs }));
    await expect(claim(refused, "b", names, more)).rejects.toThrow(EpochError);
    expect((await node.inspect(names[0] as string)).owner).toBeNull();
  });

  test("acquire() is denied if it has read a release that was rolled back, and the holder has extended since", async () => {
    const over = poolWith({ connectionLimit: 1 });
    await over.query("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    await claim(node, "holder");
    const releasing = await open();
    await releasing.beginTransaction();
    await releasing.query(`UPDATE \`${table}\` SET owner = NULL, until = 0, version = version + 1 WHERE name = 'r'`);
    const late = interrupted(async () => {
      await releasing.rollback();
      const extension = { resources: ["r"], owner: "holder", ttlMs: 60_000, fence: 1, rejoin: false, timeoutMs };
      expect(await node.extend(extension)).toMatchObject({ held: true });
    }, over);
    expect(await claim(late, "a")).toMatchObject({ granted: false, holder: "holder" });
  });

  test("acquire() of a row that was deleted and made again meanwhile looks again", async () => {
    const late = interrupted(async () => {
      await pool.query(`UPDATE \`${table}\` SET released_at = 1 WHERE name > '\n'`);
      expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(2);
      expect(await claim(node, "other")).toEqual({ granted: true, fence: 2 });
    });
    expect(await claim(late, "a")).toMatchObject({ granted: false, holder: "other" });
  });
});

describe("lost connections", () => {
  test("release() goes on over another connection, and rejects after its timeout, tried twice at least", async () => {
    const proxy = await startTcpProxy({ port: Number(new URL(uri).port) });
    const own = mysql.createPool(uri.replace(/:\d+\//, `:${proxy.port}/`));
    onTestFinished(async () => {
      await own.end();
      await proxy.close();
    });
    const far = mysqlNode(own, { table });
    await claim(far, "a");
    await proxy.stop();
    await expect(far.release({ resources: ["r"], owner: "a", timeoutMs: 60 })).rejects.toThrow();
    const released = far.release({ resources: ["r"], owner: "a", timeoutMs });
    await proxy.start();
    expect(await released).toEqual({ released: true });
  });
});

describe("errors", () => {
  const url = new URL(uri);
  const at = (user: string, password: string, database = "holdfast") =>
    poolWith({ uri: `mysql://${user}:${password}@127.0.0.1:${url.port}/${database}` });

  test("acquire() rejects with a ConfigurationError that says what is wrong, and no password", async () => {
    await pool.query("CREATE USER IF NOT EXISTS reader@'127.0.0.1' IDENTIFIED BY 'geheim'");
    await pool.query("GRANT SELECT ON holdfast.* TO reader@'127.0.0.1'");
    await pool.query("CREATE TABLE IF NOT EXISTS other (name VARBINARY(10))");
    await claim(node, "a");
    await node.release({ resources: ["r"], owner: "a", timeoutMs });
    const cases: [mysql.Pool, string, string][] = [
      [pool, "nowhere", "`nowhere` does not exist: create it with createTable()"],
      [pool, "other", "`other` has other columns than that of createTable()"],
      [at("reader", "geheim"), table, "is forbidden to this user: SELECT, INSERT and UPDATE are needed"],
      [at("reader", "gehe1m"), table, "the server refuses the connection"],
      [at("holdfast", "", "nirgends"), table, "is in a database that does not exist"],
      [at("holdfast", "", ""), table, "is in no database"],
    ];
    for (const [client, name, message] of cases) {
      const error = await claim(mysqlNode(client, { table: name }), "b").catch((reason) => reason);
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toContain(message);
      expect(JSON.stringify(error) + String(error) + error.stack).not.toMatch(/gehe[i1]m/);
    }
  });

  test("all calls but close() reject on a read-only server, whatever the user may do", async () => {
    await claim(node, "a");
    await pool.query("SET GLOBAL read_only = 1");
    onTestFinished(async () => {
      await pool.query("SET GLOBAL read_only = 0");
    });
    const message = "the server is read-only, as a replica is: connect to the primary server";
    await expect(claim(node, "a")).rejects.toThrow(message);
    await expect(claim(node, "b", ["new"])).rejects.toThrow(message);
    await expect(node.inspect("r")).rejects.toThrow(message);
    await expect(node.scan({ timeoutMs })).rejects.toThrow(message);
    await expect(node.raiseFloor({ floor: 0, epoch: 0, timeoutMs })).rejects.toThrow(message);
    await expect(node.list()[Symbol.asyncIterator]().next()).rejects.toThrow(message);
    await pool.query("CREATE USER IF NOT EXISTS writer@'127.0.0.1'");
    await pool.query("GRANT SELECT, INSERT, UPDATE ON holdfast.* TO writer@'127.0.0.1'");
    await expect(
      mysqlNode(at("writer", ""), { table }).release({ resources: ["r"], owner: "a", timeoutMs }),
    ).rejects.toThrow(message);
    const redlock = new Redlock([node, memoryNode(), memoryNode()]);
    await expect(redlock.acquire("x")).rejects.toThrow("the server is a replica");
  });

  test("acquire() rejects if two nodes of a Redlock are on one server, in whatever table", async () => {
    const others = [mysqlNode(await open(), { table: await freshTable(uri), name: "second" }), memoryNode()];
    await expect(new Redlock([node, ...others]).acquire("x")).rejects.toThrow("it is the same server as");
    const unchecked = [1, 2, 3].map((name) => mysqlNode(pool, { table, name: `${name}`, verifyServer: false }));
    expect((await new Redlock(unchecked).acquire("y")).fence).toBeGreaterThan(0);
  });

  test("acquire() rejects after close(), extend() and release() do not", async () => {
    await claim(node, "a");
    await node.close();
    await expect(claim(node, "a")).rejects.toThrow("the node is closed");
    expect(await node.release({ resources: ["r"], owner: "a", timeoutMs })).toEqual({ released: true });
  });
});

describe("names", () => {
  test("a long name, and names that spell or end in its digest, are different resources", async () => {
    const long = `${"é".repeat(700)}\\`;
    await claim(node, "a", [long]);
    const { rows } = { rows: (await pool.query<mysql.RowDataPacket[]>(`SELECT name FROM \`${table}\``))[0] };
    const stored = String(rows.at(-1)?.name);
    expect(stored).toMatch(/^é+.?\t[\da-f]{64}$/u);
    for (const other of [stored, stored.replace("\t", "\\t"), `${long}x`, long.slice(0, -1)]) {
      expect((await claim(node, "b", [other])).granted, other).toBe(true);
    }
    expect((await claim(node, "b", [long])).granted).toBe(false);
    const { claims } = await node.scan({ timeoutMs });
    const [beginning] = claims.filter(({ owner }) => owner === "a").map(({ resource }) => resource);
    expect(beginning).toMatch(/^é+…$/);
  });

  test("list() and scan() return what is held, page by page, and list() no name that is not stored whole", async () => {
    const resources = Array.from({ length: 1_200 }, (_, index) => `r${index} ${odd}`).sort();
    for (let at = 0; at < 1_200; at += 400) await claim(node, "a", resources.slice(at, at + 400));
    await claim(node, "a", ["x".repeat(1_001)]);
    await claim(node, "b", ["free"]);
    await node.release({ resources: ["free"], owner: "b", timeoutMs });
    const listed: string[] = [];
    for await (const resource of node.list()) listed.push(resource);
    expect(listed.sort()).toEqual(resources);
    const first = await node.scan({ timeoutMs });
    const second = await node.scan({ timeoutMs, cursor: first.cursor as string });
    expect([first.counters, second.counters, second.cursor]).toEqual([1_001, 201, undefined]);
    expect([...first.claims, ...second.claims]).toHaveLength(1_201);
  });
});

describe("deleteUnused()", () => {
  const dayMs = 86_400_000;

  /** Makes all rows older. */
  async function age(): Promise<void> {
    const day = 1_000 * dayMs;
    await pool.query(
      `UPDATE \`${table}\` SET released_at = released_at - ${day} WHERE released_at > 0 AND name > '\n'`,
    );
  }

  test("deleteUnused() deletes only rows that nobody has claimed for the time, and lowers no counter", async () => {
    await claim(node, "a", ["freed", "both"], { fenceHint: 50 });
    await node.release({ resources: ["both", "freed"], owner: "a", timeoutMs });
    await age();
    await claim(node, "a", ["held"]);
    await claim(node, "a", ["recent"]);
    await node.release({ resources: ["recent"], owner: "a", timeoutMs });
    expect(await node.deleteUnused({ unusedForMs: dayMs + 600_000 })).toBe(0);
    expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(2);
    const [rows] = await pool.query<mysql.RowDataPacket[]>(`SELECT name FROM \`${table}\` ORDER BY name`);
    expect(rows.map(({ name }) => String(name))).toEqual(["", "\t", "\theld", "\trecent", "held", "recent"]);
    expect((await node.scan({ timeoutMs })).highest).toBe(50);
    expect(await claim(node, "a", ["freed"])).toEqual({ granted: true, fence: 51 });
    expect(await claim(node, "a", ["recent"])).toEqual({ granted: true, fence: 51 });
    expect((await claim(node, "b", ["held"])).granted).toBe(false);
  });

  test("deleteUnused() leaves rows that a transaction holds, and checks its options", async () => {
    await claim(node, "a");
    const connection = await open();
    await connection.beginTransaction();
    expect(await node.holds(connection, { resources: ["r"], owner: "a", fence: 1 })).toBe(true);
    await node.release({ resources: ["r"], owner: "a", timeoutMs });
    await age();
    expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(0);
    await connection.commit();
    expect(await node.deleteUnused({ unusedForMs: 60_000 })).toBe(1);
    await expect(node.deleteUnused({ unusedForMs: 59_999 })).rejects.toThrow("unusedForMs must be at least 60000");
    expect(await node.deleteUnused({ unusedForMs: Number.MAX_SAFE_INTEGER })).toBe(0);
  });
});

test("mysqlNode() replies as memoryNode() does in random histories of exclusive and shared requests, in which the floor rises", {
  timeout: 120_000,
}, async () => {
  const open = async () => mysqlNode(pool, { table: await freshTable(uri) });
  expect(await differenceInHistories(open, memoryNode)).toBeUndefined();
});

import { Readable } from "node:stream";
import { createGuard, fenced, type GuardedTable, registerRead, removeGuard } from "@holdfast/mysql";
import {
  add,
  describeGuard,
  type GuardedDatabase,
  lockA,
  testBadOptions,
  toolsFor,
} from "@holdfast/testkit/describe-guard";
import mysqlWithCallbacks from "mysql2";
import mysql from "mysql2/promise";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serverOfFile } from "./servers.ts";

// With a binary log in the format MIXED, plain reads in triggers are locking reads.
const settings = { skip_log_bin: "OFF", log_bin: "log", server_id: 1, local_infile: "ON" };
const { uri } = await serverOfFile({
  settings: { ...settings, binlog_format: "MIXED", log_bin_trust_function_creators: "ON" },
});
let pool: mysql.Pool;
let database: string;
let databases = 0;

beforeEach(async () => {
  databases += 1;
  database = `d${databases}`;
  const setup = await mysql.createConnection(uri);
  await setup.query(`CREATE DATABASE ${database}`);
  await setup.end();
  pool = mysql.createPool({ uri: uri.replace(/holdfast$/, database) });
  const name = "VARCHAR(300) CHARACTER SET utf8mb4 NOT NULL";
  await pool.query(`CREATE TABLE accounts (id INT PRIMARY KEY, lock_name ${name}, balance INT NOT NULL DEFAULT 0)`);
  await pool.query("INSERT INTO accounts VALUES (1, 'a', 0), (2, 'a', 0), (3, 'b', 0)");
});
afterEach(() => pool.end());

async function migrate(statements: readonly string[]): Promise<void> {
  for (const statement of statements) await pool.query(statement);
}

/** Guards a table by its column `lock_name`, or otherwise. */
const guard = (table: Partial<GuardedTable> = { column: "lock_name" }, mode: "warn" | "refuse" = "refuse") =>
  migrate(createGuard({ tables: [{ table: "accounts", ...table }], mode }));

async function rowsOf(text: string): Promise<mysql.RowDataPacket[]> {
  return (await pool.query<mysql.RowDataPacket[]>(text))[0];
}

/** Whether the server refuses locking reads of what has changed since the snapshot, by error 1020: MariaDB since 11.6. */
const hasStrictSnapshots = await strictSnapshots();

async function strictSnapshots(): Promise<boolean> {
  const connection = await mysql.createConnection(uri);
  const [rows] = await connection.query<mysql.RowDataPacket[]>("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'");
  await connection.end();
  return rows[0]?.Value === "ON";
}

/** The outcome of error 1020. */
const changed = "1020";

const odd = "the \"ledger\" of 'Prüfer' \\ ? :x 🔒";
const guardedDatabase: GuardedDatabase<mysql.PoolConnection> = {
  guard,
  removeGuard: () => migrate(removeGuard({ tables: [{ table: "accounts" }] })),
  async begin(level) {
    const connection = await pool.getConnection();
    if (level !== undefined) await connection.query(`SET TRANSACTION ISOLATION LEVEL ${level}`);
    await connection.query("START TRANSACTION");
    return connection;
  },
  async end(connection, how = "COMMIT") {
    await connection.query(how);
    connection.release();
  },
  query: async (text, connection) => (await (connection ?? pool).query<mysql.RowDataPacket[]>(text))[0],
  insert: (connection, names) =>
    connection.query("INSERT INTO accounts (id, lock_name) VALUES ?", [names.map((name, n) => [10 + n, name])]),
  async underTokens(connection, text, work) {
    await connection.query("SET @holdfast_fence = ?", [text]);
    return work().finally(() => connection.query("SET @holdfast_fence = NULL"));
  },
  fenced,
  registerRead,
  // The table is a copy, which is renewed if nobody reads it for 100 ms.
  oneWaits: () =>
    expect
      .poll(
        async () => rowsOf("SELECT COUNT(*) AS n FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"),
        { interval: 200, timeout: 10_000 },
      )
      .toEqual([{ n: 1 }]),
  state: "sqlState",
  outcomeOf(error) {
    const { errno, sqlState } = Object(error);
    return errno === 1020 ? changed : sqlState;
  },
  // MariaDB 11 may refuse whoever has waited at SERIALIZABLE, as the snapshot is older than the commit.
  afterWaiting: (level, outcome) => (hasStrictSnapshots && level === "SERIALIZABLE" ? [outcome, changed] : [outcome]),
  afterSnapshot: (level, outcome) => [hasStrictSnapshots && level !== "READ COMMITTED" ? changed : outcome],
  levelsOfSnapshots: ["READ COMMITTED", "REPEATABLE READ"],
  tableName: () => "accounts",
  isRegistered: "is registered",
  longName: 299,
  malformed: ['{"a": "5 "}', '{"a": "5\\n"}', '{"a": "05"}', '{"a": ""}'],
  rules: [
    ["a column", { column: "lock_name" }, "a"],
    ["a constant", { name: odd }, odd],
    ["an expression", { expression: "CONCAT('account:', {row}.id) -- ? \\ '" }, "account:1"],
    ["a column that is no text", { column: "id" }, "1"],
  ],
  writes: [
    ["INSERT", "INSERT INTO accounts (id, lock_name) VALUES (4, 'c'), (5, 'd')", ["c", "d"]],
    ["INSERT IGNORE", "INSERT IGNORE INTO accounts (id, lock_name) VALUES (1, 'z'), (4, 'c')", ["c"]],
    ["INSERT … SELECT", "INSERT INTO accounts SELECT id + 9, lock_name, 0 FROM accounts", ["a", "b"]],
    ["UPDATE", "UPDATE accounts SET balance = 1", ["a", "b"]],
    ["UPDATE IGNORE", "UPDATE IGNORE accounts SET balance = 1", ["a", "b"]],
    ["UPDATE of several tables", "UPDATE accounts JOIN accounts AS b USING (id) SET accounts.balance = 1", ["a", "b"]],
    ["UPDATE of the name", "UPDATE accounts SET lock_name = 'c' WHERE id = 1", ["a", "c"]],
    ["DELETE", "DELETE FROM accounts WHERE id > 1", ["a", "b"]],
    ["DELETE of several tables", "DELETE accounts FROM accounts JOIN accounts AS b USING (id)", ["a", "b"]],
    [
      "ON DUPLICATE KEY UPDATE",
      "INSERT INTO accounts VALUES (1, 'z', 0), (4, 'c', 0) ON DUPLICATE KEY UPDATE balance = 1",
      ["a", "c"],
    ],
    ["REPLACE", "REPLACE INTO accounts VALUES (1, 'z', 0), (4, 'c', 0)", ["a", "z", "c"]],
  ],
};
const { inTransaction, write, balances, fences, stale, missing, unnamed, outcomeOf } = toolsFor(guardedDatabase);
const { begin, end } = guardedDatabase;
describeGuard(guardedDatabase);
testBadOptions(createGuard, [
  [
    "a table twice",
    {
      tables: [
        { table: "t", name: "a" },
        { table: "t", name: "a" },
      ],
    },
    "once, not `t` twice",
  ],
  ["an expression without a row", { tables: [{ table: "t", expression: "id" }] }, "{row}.column"],
  [
    "a table of a database, and a registry of none",
    { tables: [{ database: "d", table: "t", name: "a" }] },
    "database must be",
  ],
  ["a bad identifier", { tables: [{ table: "t", column: "a\0" }] }, "no NUL"],
]);

describe("createGuard()", () => {
  test("createGuard() works whatever modes and character set the migration and the writer have", async () => {
    const connection = await mysql.createConnection({
      uri: uri.replace(/holdfast$/, database),
      charset: "latin1_german1_ci",
    });
    await connection.query("SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'");
    for (const statement of createGuard({ tables: [{ table: "accounts", expression: "'prüfer:' || {row}.id" }] })) {
      await connection.query(statement);
    }
    await connection.beginTransaction();
    await fenced(connection, { resources: ["prüfer:1"], fence: 5 }, () => connection.query(add(1)));
    await connection.commit();
    await connection.end();
    await expect(write({ "prüfer:1": 4 })).rejects.toMatchObject(stale);
    expect(await fences()).toEqual({ "prüfer:1": 5 });
  });

  test("createGuard() quotes the names of databases, tables and columns, and puts the registry where it is told", async () => {
    const name = `o\`dd; 'DROP' ? ${"x".repeat(40)}`;
    const quoted = `\`${name.replaceAll("`", "``")}\``;
    const place = `${name.slice(0, 30)}${databases}`;
    const quotedPlace = `\`${place.replaceAll("`", "``")}\``;
    await pool.query(`CREATE DATABASE ${quotedPlace}`);
    await pool.query(`CREATE TABLE ${quotedPlace}.${quoted} (${quoted} VARCHAR(10))`);
    const table = { database: place, table: name, column: name };
    await migrate(createGuard({ tables: [table], database }));
    const insert = `INSERT INTO ${quotedPlace}.${quoted} VALUES ('a')`;
    await expect(write({}, insert)).rejects.toMatchObject(missing);
    await write({ a: 5 }, insert);
    expect(await fences()).toEqual({ a: 5 });
    await migrate(removeGuard({ tables: [table] }));
    await write({}, insert);
  });

  test("createGuard() and removeGuard() keep tables apart whose names differ in case or in accents only", async () => {
    const tables = ["Accounts", "prüfung", "prufung", "ACCOUNTS"];
    for (const table of tables) {
      await pool.query(`CREATE TABLE \`${table}\` (id INT)`);
      await guard({ table, name: table });
    }
    await guard();
    for (const table of tables) {
      await expect(write({}, `INSERT INTO \`${table}\` VALUES (1)`), table).rejects.toMatchObject(missing);
    }
    await expect(write({})).rejects.toMatchObject(missing);
    await migrate(removeGuard({ tables: [{ table: "Accounts" }] }));
    await write({}, "INSERT INTO Accounts VALUES (1)");
    await expect(write({}, "INSERT INTO ACCOUNTS VALUES (1)")).rejects.toMatchObject(missing);
    await expect(write({})).rejects.toMatchObject(missing);
  });

  test.each(["utf8mb4_general_ci", "latin1_swedish_ci"])(
    "createGuard() compares names byte by byte, whatever the collation of the column: %s",
    async (collation) => {
      const type = `VARCHAR(9) CHARACTER SET ${collation.split("_")[0]} COLLATE ${collation}`;
      await pool.query(`ALTER TABLE accounts MODIFY lock_name ${type}`);
      await guard();
      await write({ a: 5 });
      for (const name of ["A", "ä", "a "]) await expect(write({ [name]: 6 })).rejects.toMatchObject(missing);
      for (const name of ["A", "ä", "a "]) {
        const rename = `UPDATE accounts SET lock_name = '${name}' WHERE id = 2`;
        await expect(write({ a: 6 }, rename)).rejects.toMatchObject(missing);
      }
      await write({ a: 6, ä: 1 }, "UPDATE accounts SET lock_name = 'ä' WHERE id = 2");
      expect(await fences()).toEqual({ a: 6, ä: 1 });
    },
  );

  test("createGuard() refuses a row whose lock has no name, or a name that is not stored whole", async () => {
    await guard({ expression: "IF({row}.id < 3, REPEAT('x', 1001), NULL)" });
    for (const id of [1, 3]) await expect(write({ b: 5 }, add(id))).rejects.toMatchObject(unnamed);
  });

  test("createGuard() cuts names, so that a message says why", async () => {
    await pool.query(`RENAME TABLE accounts TO ${"t".repeat(60)}`);
    const name = "ü".repeat(200);
    await guard({ table: "t".repeat(60), name });
    const update = `UPDATE ${"t".repeat(60)} SET balance = 1`;
    await write({ [name]: Number.MAX_SAFE_INTEGER }, update);
    await expect(write({ [name]: Number.MAX_SAFE_INTEGER - 1 }, update)).rejects.toMatchObject({
      ...stale,
      message: expect.stringMatching(
        /^could not write to t{17}\.\.\. of lock ü+\.\.\. with .* 9007199254740991 is registered$/u,
      ),
    });
  });

  test("createGuard() wants a token for each lock that is written by LOAD DATA", async () => {
    await guard();
    const load = (fences: object) => {
      const infileStreamFactory = () => Readable.from([Buffer.from("4\tc\n5\td\n")]);
      const sql = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE accounts (id, lock_name)";
      const work = (connection: mysql.PoolConnection) => connection.query({ sql, infileStreamFactory });
      return inTransaction((connection) =>
        guardedDatabase.underTokens(connection, JSON.stringify(fences), () => work(connection)),
      );
    };
    await expect(load({ c: 5 })).rejects.toMatchObject(missing);
    await load({ c: 5, d: 5 });
    expect(await fences()).toEqual({ c: 5, d: 5 });
  });

  test("createGuard() sees what other triggers change, also those that come later", async () => {
    await pool.query("CREATE TABLE entries (id INT, lock_name VARCHAR(9))");
    await guard({ table: "entries", column: "lock_name" });
    await pool.query("CREATE TRIGGER ren BEFORE INSERT ON entries FOR EACH ROW SET NEW.lock_name = 'renamed'");
    await pool.query(
      "CREATE TRIGGER more AFTER INSERT ON entries FOR EACH ROW UPDATE accounts SET balance = balance + 1",
    );
    const insert = "INSERT INTO entries VALUES (1, 'entries')";
    await expect(write({ entries: 1 }, insert)).rejects.toMatchObject(missing);
    await write({ renamed: 1 }, insert);
    expect(await balances()).toEqual([1, 1, 1]);
  });

  test("createGuard() does not see TRUNCATE and what foreign keys change, as its page says", async () => {
    await pool.query(`CREATE TABLE entries (id INT, account INT, lock_name VARCHAR(9),
      FOREIGN KEY (account) REFERENCES accounts (id) ON DELETE CASCADE) ENGINE = InnoDB`);
    await pool.query("INSERT INTO entries VALUES (1, 3, 'entries')");
    await guard({ table: "entries", column: "lock_name" });
    await pool.query("DELETE FROM accounts WHERE id = 3");
    expect(await rowsOf("SELECT * FROM entries")).toEqual([]);
    await pool.query("TRUNCATE entries");
  });

  test("createGuard() forgets a token with the savepoint or the transaction that has registered it", async () => {
    await guard();
    await write({ a: 5 });
    await inTransaction(async (connection) => {
      await connection.query("SAVEPOINT here");
      await fenced(connection, lockA(7), () => connection.query(add(1)));
      await connection.query("ROLLBACK TO here");
      await fenced(connection, lockA(6), () => connection.query(add(1)));
      await fenced(connection, lockA(7), () => connection.query(add(1)));
      await expect(fenced(connection, lockA(6), () => connection.query(add(1)))).rejects.toMatchObject(stale);
      await connection.query("ROLLBACK TO here");
    });
    await write({ a: 6 });
    expect(await fences()).toEqual({ a: 6 });
    expect(await balances()).toEqual([2, 0, 0]);
  });

  test("createGuard() leaves the identifiers and the counts that a statement returns as they are", async () => {
    await pool.query("CREATE TABLE entries (id INT AUTO_INCREMENT PRIMARY KEY, lock_name VARCHAR(9))");
    await guard({ table: "entries", column: "lock_name" }, "warn");
    for (const insertId of [1, 3]) {
      const [header] = await pool.query("INSERT INTO entries (lock_name) VALUES ('a'), ('b')");
      expect(header).toMatchObject({ insertId, affectedRows: 2 });
    }
  });

  test("createGuard() leaves no moment without a guard when it is run again", async () => {
    await guard({ column: "lock_name" }, "warn");
    await guard();
    for (const statement of createGuard({ tables: [{ table: "accounts", column: "lock_name" }] })) {
      await pool.query(statement);
      await expect(write({}), statement).rejects.toMatchObject({ sqlState: expect.stringMatching(/^LF428|^42000/) });
    }
    const triggers = await rowsOf(
      "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
    );
    expect(triggers).toHaveLength(3);
  });
});

describe("registerRead()", () => {
  test.each(["SELECT * FROM accounts", "SELECT * FROM holdfast_fences"])(
    "registerRead() refuses a transaction whose snapshot is older than the last write under the lock: %s",
    async (read) => {
      await guard();
      for (const mode of ["exclusive", "shared"] as const) {
        const late = inTransaction(async (connection) => {
          await connection.query(read);
          await write({ a: 5 });
          await registerRead(connection, lockA(6), { mode });
        });
        expect(await outcomeOf(late), mode).toBe(hasStrictSnapshots ? changed : "40001");
      }
      await inTransaction(async (connection) => {
        await connection.query(read);
        await registerRead(connection, lockA(6));
      });
      await inTransaction(async (connection) => {
        await connection.query(read);
        await write({ a: 6 });
        await registerRead(connection, lockA(6));
      }, "READ COMMITTED");
    },
  );

  test("registerRead() needs a right of its own, and writers need nothing but their rights on the table", async () => {
    await guard();
    const writer = `writer${databases}`;
    await pool.query(`CREATE USER ${writer}@'127.0.0.1'`);
    await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${database}.accounts TO ${writer}@'127.0.0.1'`);
    const connection = await mysql.createConnection(
      uri.replace("holdfast@", `${writer}@`).replace(/holdfast$/, database),
    );
    await connection.beginTransaction();
    await fenced(connection, lockA(5), () => connection.query(add(1)));
    await expect(fenced(connection, lockA(4), () => connection.query(add(1)))).rejects.toMatchObject(stale);
    const denied = /denied/;
    await expect(registerRead(connection, lockA(5))).rejects.toThrow(denied);
    for (const statement of [
      "DELETE FROM holdfast_fences",
      "CALL holdfast_admit('a', 'x', 0)",
      "TRUNCATE accounts",
      "DROP TRIGGER holdfast_guard_accounts_update",
    ]) {
      await expect(connection.query(statement), statement).rejects.toThrow(denied);
    }
    await pool.query(`GRANT EXECUTE ON PROCEDURE ${database}.holdfast_register_read TO ${writer}@'127.0.0.1'`);
    await connection.beginTransaction();
    await registerRead(connection, lockA(6));
    await connection.commit();
    await connection.end();
    expect(await fences()).toEqual({ a: 6 });
  });

  test("registerRead() refuses anything but a transaction, and unknown options", async () => {
    await expect(registerRead(pool as never, lockA(5))).rejects.toThrow("not a pool");
    const connection = await begin();
    await expect(registerRead(connection, lockA(5), { schema: "x" } as object)).rejects.toThrow("schema");
    const bad = registerRead(connection, lockA(5), { mode: "write" as never });
    await expect(bad).rejects.toThrow('mode must be "exclusive" or "shared", not "write"');
    await end(connection);
    await guard();
    const long = { resources: ["ü".repeat(501)], fence: 5 };
    await expect(inTransaction((connection) => registerRead(connection, long))).rejects.toMatchObject(unnamed);
  });
});

describe("fenced()", () => {
  test("fenced() takes the token back before the connection goes to another transaction, also when the work fails", async () => {
    await guard();
    const one = await pool.getConnection();
    for (const work of [
      () => one.query(add(1)),
      () => one.query("SELECT nonsense"),
      () => one.query("ROLLBACK TO x"),
    ]) {
      await one.beginTransaction();
      await fenced(one, lockA(5), work as () => Promise<unknown>).catch(() => {});
      await expect(one.query(add(1))).rejects.toMatchObject(missing);
      await one.commit();
      await expect(one.query(add(1))).rejects.toMatchObject(missing);
    }
    one.release();
    expect(await balances()).toEqual([1, 0, 0]);
  });

  test("fenced() leaves no token behind when calls in one transaction run side by side", async () => {
    await guard();
    const one = await pool.getConnection();
    await one.beginTransaction();
    const works = [lockA(5), { resources: ["b"], fence: 5 }].map((lock) => {
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      return { lock, end, ended };
    });
    const calls: Promise<void>[] = [];
    for (const { lock, ended } of works) {
      await new Promise<void>((started) => {
        const work = () => {
          started();
          return ended;
        };
        calls.push(fenced(one, lock, work));
      });
    }
    for (const [index, { end: finish }] of works.entries()) {
      finish();
      await calls[index];
    }
    expect((await one.query("SELECT @holdfast_fence AS it"))[0]).toEqual([{ it: null }]);
    await one.commit();
    one.release();
  });

  test("fenced() resolves with what the work resolves with, and adds tokens when it is nested", async () => {
    await guard();
    await inTransaction(async (connection) => {
      const inner = async () => {
        await connection.query("UPDATE accounts SET balance = 1");
        return "done";
      };
      const b = { resources: ["b"], fence: 1 };
      const both = fenced(connection, lockA(5), async () => {
        const result = await fenced(connection, b, inner);
        await connection.query(add(1));
        await expect(connection.query(add(3))).rejects.toMatchObject(missing);
        return result;
      });
      expect(await both).toBe("done");
      await expect(connection.query(add(1))).rejects.toMatchObject(missing);
    });
    expect(await fences()).toEqual({ a: 5, b: 1 });
  });

  test("fenced() takes a function, and a connection of mysql2 with callbacks, and needs no registry", async () => {
    await inTransaction(async (connection) => {
      const run = async (text: string) => (await connection.query(text))[0] as mysql.RowDataPacket[];
      const stated = () => run("SELECT @holdfast_fence AS it").then(([row]) => row?.it);
      expect(await fenced(run, { resources: ["prüfer 🔒"], fence: 5 }, stated)).toBe('{"prüfer 🔒":5}');
      expect(await stated()).toBeNull();
    }, "READ COMMITTED");
    const plain = mysqlWithCallbacks.createConnection(uri);
    await plain.promise().beginTransaction();
    const [rows] = await fenced(plain, lockA(5), () => plain.promise().query("SELECT @holdfast_fence AS it"));
    expect(rows).toEqual([{ it: '{"a":5}' }]);
    await plain.promise().end();
    await expect(fenced(pool as never, lockA(5), async () => {})).rejects.toThrow("not a pool");
  });

  test("a token that a tool leaves in its session counts for the next transaction there, until a newer one is registered", async () => {
    await guard();
    const one = await pool.getConnection();
    await one.query(`SET @holdfast_fence = '{"a": 5}'`);
    await one.query(add(1));
    await one.query(add(1)); // another transaction: as the page says
    await write({ a: 6 });
    await expect(one.query(add(1))).rejects.toMatchObject(stale);
    one.destroy();
  });
});

describe("the mode of createGuard()", () => {
  const warnings = async () =>
    (await rowsOf("SELECT message FROM holdfast_warnings ORDER BY id")).map((row) => row.message);

  test("createGuard() only warns in the mode warn, once for each lock in a statement, and registers valid tokens", async () => {
    await guard({ column: "lock_name" }, "warn");
    await write({ a: 5, b: 5 }, "UPDATE accounts SET balance = 1");
    expect(await warnings()).toEqual([]);
    await write({ a: 4 }, "UPDATE accounts SET balance = 2 ORDER BY id");
    expect(await warnings()).toEqual([
      "could not write to accounts of lock a with fence 4: fence 5 is registered",
      "could not write to accounts of lock b: the transaction has stated no fencing token for it",
    ]);
    expect(await rowsOf("SELECT state, client FROM holdfast_warnings WHERE id = 1")).toEqual([
      { state: "LF409", client: expect.stringMatching(/^holdfast@/) },
    ]);
    await write({ a: "x" });
    expect(await warnings()).toHaveLength(3);
    expect(await balances()).toEqual([3, 2, 2]);
    expect(await fences()).toEqual({ a: 5, b: 5 });
  });
});

import { createGuard, fenced, type GuardedTable, registerRead, removeGuard } from "@holdfast/postgres";
import {
  add,
  describeGuard,
  type GuardedDatabase,
  lockA,
  testBadOptions,
  toolsFor,
} from "@holdfast/testkit/describe-guard";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serverOfFile } from "./servers.ts";

const { connectionString } = await serverOfFile();
let pool: pg.Pool;
let schema: string;
let schemas = 0;

beforeEach(async () => {
  schemas += 1;
  schema = `s${schemas}`;
  const options = `-c search_path=${schema} -c default_transaction_isolation=read\\ committed`;
  pool = new pg.Pool({ connectionString, options });
  pool.on("error", () => {});
  await pool.query(`CREATE SCHEMA ${schema};
    CREATE TABLE accounts (id int PRIMARY KEY, lock_name text NOT NULL, balance int NOT NULL DEFAULT 0);
    INSERT INTO accounts VALUES (1, 'a'), (2, 'a'), (3, 'b')`);
});
afterEach(() => pool.end());

/** Guards a table by its column `lock_name`, or otherwise. */
const guard = (table: Partial<GuardedTable> = { column: "lock_name" }, mode: "warn" | "refuse" = "refuse") =>
  pool.query(createGuard({ tables: [{ schema, table: "accounts", ...table }], mode, schema }));

/** Above READ COMMITTED, a transaction fails if another one that it has waited for has registered a token. */
const orSerialize = (level: string, outcome: string) => [level === "READ COMMITTED" ? outcome : "40001"];

const odd = "the \"ledger\" of 'Prüfer' \\ $holdfast$ 🔒";
const database: GuardedDatabase<pg.PoolClient> = {
  guard,
  removeGuard: () => pool.query(removeGuard({ tables: [{ schema, table: "accounts", column: "lock_name" }] })),
  async begin(level = "READ COMMITTED") {
    const client = await pool.connect();
    await client.query(`BEGIN ISOLATION LEVEL ${level}`);
    return client;
  },
  async end(client, how = "COMMIT") {
    await client.query(how);
    client.release();
  },
  query: async (statement, client) => (await (client ?? pool).query(statement)).rows,
  insert: (client, names) =>
    client.query("INSERT INTO accounts SELECT 9 + n, name FROM unnest($1::text[]) WITH ORDINALITY AS given (name, n)", [
      names,
    ]),
  async underTokens(client, text, work) {
    if (text !== null) await client.query("SELECT set_config('holdfast.fence', $1, true)", [text]);
    return work();
  },
  async fenced(client, lock, work) {
    await fenced(client, lock);
    return work();
  },
  registerRead: (client, lock, options) => registerRead(client, lock, { schema, ...options }),
  oneWaits: () =>
    expect
      .poll(async () => (await pool.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).rowCount)
      .toBe(1),
  state: "code",
  outcomeOf: (error) => Object(error).code,
  afterWaiting: orSerialize,
  afterSnapshot: orSerialize,
  levelsOfSnapshots: ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"],
  tableName: () => `${schema}.accounts`,
  isRegistered: "is registered already",
  longName: 900,
  malformed: [],
  rules: [
    ["a column", { column: "lock_name" }, "a"],
    ["a constant", { name: odd }, odd],
    ["an expression", { expression: "'account:' || id -- $holdfast$ \\" }, "account:1"],
    ["an expression with variables of the function", { expression: "format('%s', lock_name)" }, "a"],
    ["a column that is no text", { column: "id" }, "1"],
  ],
  writes: [
    ["INSERT", "INSERT INTO accounts VALUES (4, 'c'), (5, 'd')", ["c", "d"]],
    ["UPDATE", "UPDATE accounts SET balance = 1", ["a", "b"]],
    ["UPDATE of the name", "UPDATE accounts SET lock_name = 'c' WHERE id = 1", ["a", "c"]],
    ["DELETE", "DELETE FROM accounts WHERE id > 1", ["a", "b"]],
    [
      "ON CONFLICT",
      "INSERT INTO accounts VALUES (1, 'z'), (4, 'c') ON CONFLICT (id) DO UPDATE SET balance = 1",
      ["a", "c"],
    ],
    ["ON CONFLICT DO NOTHING", "INSERT INTO accounts VALUES (1, 'z'), (4, 'c') ON CONFLICT DO NOTHING", ["c"]],
    [
      "MERGE",
      `MERGE INTO accounts USING (VALUES (1, 'a'), (3, 'b'), (4, 'c')) AS given (id, lock) ON accounts.id = given.id
        WHEN NOT MATCHED THEN INSERT VALUES (given.id, given.lock) WHEN MATCHED AND given.id = 1 THEN DELETE
        WHEN MATCHED THEN UPDATE SET balance = 1`,
      ["a", "b", "c"],
    ],
    ["a statement WITH", "WITH gone AS (DELETE FROM accounts WHERE id = 3 RETURNING 1) SELECT * FROM gone", ["b"]],
    ["COPY", `COPY accounts (id, lock_name) FROM PROGRAM 'printf "4\\tc\\n5\\td\\n"'`, ["c", "d"]],
  ],
};
const { inTransaction, write, balances, fences, stale, missing, outcomeOf } = toolsFor(database);
describeGuard(database);
testBadOptions(createGuard, [["NUL", { tables: [{ table: "accounts", name: "a\0" }] }, "must have no NUL"]]);

/** Opens a transaction under a token of the lock a, on a connection of its own. */
async function begin(fence: number, level?: string): Promise<pg.PoolClient> {
  const client = await database.begin(level);
  await fenced(client, lockA(fence));
  return client;
}
const { end } = database;

test("a token that one registry has admitted is checked by another one, too", async () => {
  const other = `${schema}_other`;
  await pool.query(`CREATE SCHEMA ${other}; CREATE TABLE ${other}.accounts (LIKE accounts INCLUDING DEFAULTS)`);
  await guard();
  const table = { schema: other, table: "accounts", column: "lock_name" };
  await pool.query(createGuard({ tables: [table], schema: other }));
  const insert = `INSERT INTO ${other}.accounts VALUES (1, 'a')`;
  const newer = await begin(20);
  await newer.query(insert);
  await end(newer);
  const older = await begin(10);
  await older.query("UPDATE accounts SET balance = 1 WHERE id = 1");
  await expect(older.query(insert)).rejects.toMatchObject({ code: "LF409" });
  await end(older, "ROLLBACK");
});

describe("createGuard()", () => {
  test("createGuard() quotes the names of schemas, tables and columns", async () => {
    const odd = `o"dd; 'DROP' $$ ${"x".repeat(40)}`;
    await pool.query(`CREATE SCHEMA "${odd.replaceAll('"', '""')}${schemas}"`);
    const [quotedSchema, quotedName] = [`${odd}${schemas}`, odd].map((name) => `"${name.replaceAll('"', '""')}"`);
    await pool.query(`CREATE TABLE ${quotedSchema}.${quotedName} (${quotedName} text)`);
    const table = { schema: `${odd}${schemas}`, table: odd, column: odd };
    await pool.query(createGuard({ tables: [table], schema: `${odd}${schemas}` }));
    await expect(write({}, `INSERT INTO ${quotedSchema}.${quotedName} VALUES ('a')`)).rejects.toMatchObject(missing);
    await write({ a: 5 }, `INSERT INTO ${quotedSchema}.${quotedName} VALUES ('a')`);
    await pool.query(removeGuard({ tables: [table] }));
    await write({}, `INSERT INTO ${quotedSchema}.${quotedName} VALUES ('a')`);
  });

  test.each(["de_DE", "POSIX"])(
    "createGuard() compares names byte by byte, whatever the collation of the column",
    async (name) => {
      if (name === "de_DE")
        await pool.query("CREATE COLLATION de (provider = icu, locale = 'de-u-ks-level2', deterministic = false)");
      await pool.query(`ALTER TABLE accounts ALTER lock_name TYPE text COLLATE ${name === "de_DE" ? "de" : '"POSIX"'}`);
      await guard();
      await write({ a: 5 });
      await expect(write({ A: 6 })).rejects.toMatchObject(missing);
      await expect(write({ a: 4 })).rejects.toMatchObject(stale);
    },
  );

  test("createGuard() refuses a row whose lock has no name", async () => {
    await guard({ expression: "CASE WHEN id < 3 THEN lock_name END" });
    await expect(write({ b: 5 }, "UPDATE accounts SET balance = 1 WHERE id = 3")).rejects.toMatchObject({
      code: "LF405",
    });
  });

  test("createGuard() sees what a foreign key changes, and what other triggers change", async () => {
    await pool.query(`CREATE TABLE entries (id int, account int REFERENCES accounts ON DELETE CASCADE ON UPDATE CASCADE, lock_name text);
      INSERT INTO entries VALUES (1, 3, 'entries');
      CREATE FUNCTION rename() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.lock_name = 'renamed'; RETURN NEW; END $$;
      CREATE TRIGGER "~last" BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION rename()`);
    await guard({ table: "entries", column: "lock_name" });
    await expect(write({ b: 1 }, "DELETE FROM accounts WHERE id = 3")).rejects.toMatchObject(missing);
    await expect(write({ b: 1 }, "UPDATE accounts SET id = 9 WHERE id = 3")).rejects.toMatchObject(missing);
    await write({ entries: 1 }, "DELETE FROM accounts WHERE id = 3");
    await expect(write({ entries: 1 }, "INSERT INTO entries VALUES (2, 1, 'entries')")).rejects.toMatchObject(missing);
    await write({ renamed: 1 }, "INSERT INTO entries VALUES (2, 1, 'entries')");
  });

  test("createGuard() refuses TRUNCATE, unless one lock covers all rows", async () => {
    await guard();
    await expect(write({ a: 9, b: 9 }, "TRUNCATE accounts")).rejects.toMatchObject({ code: "LF405" });
    await guard({ name: "ledger" });
    await expect(write({}, "TRUNCATE accounts")).rejects.toMatchObject(missing);
    await write({ ledger: 5 }, "TRUNCATE accounts");
    await expect(write({ ledger: 4 }, "TRUNCATE accounts")).rejects.toMatchObject(stale);
  });

  test("createGuard() guards the partitions of a table, also those that come later, and rows that move", async () => {
    await pool.query(`CREATE TABLE parts (id int, lock_name text) PARTITION BY RANGE (id);
      CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (10)`);
    await guard({ table: "parts", column: "lock_name" });
    await pool.query(`CREATE TABLE high (lock_name text, gone int, id int); ALTER TABLE high DROP gone;
      ALTER TABLE parts ATTACH PARTITION high FOR VALUES FROM (10) TO (20)`);
    for (const table of ["parts", "low"]) {
      await expect(write({}, `INSERT INTO ${table} VALUES (1, 'a')`)).rejects.toMatchObject(missing);
      await write({ a: 5 }, `INSERT INTO ${table} VALUES (1, 'a')`);
    }
    await expect(write({ a: 4 }, "INSERT INTO high (id, lock_name) VALUES (11, 'a')")).rejects.toMatchObject(stale);
    const move = "UPDATE parts SET id = 11, lock_name = 'b' WHERE id = 1";
    await expect(write({ a: 5 }, move)).rejects.toMatchObject(missing);
    await expect(write({ b: 5 }, move)).rejects.toMatchObject(missing);
    await write({ a: 5, b: 5 }, move);
  });

  test("createGuard() goes on when columns are added and dropped in the same session", async () => {
    await guard({ expression: "lock_name || balance" });
    await inTransaction(async (client) => {
      await client.query(`SET LOCAL holdfast.fence = '{"a0": 5, "a1": 5, "a2": 5}'`);
      await client.query("UPDATE accounts SET balance = 1 WHERE id = 1");
    });
    await pool.query("ALTER TABLE accounts ADD more text DEFAULT 'x'; ALTER TABLE accounts ALTER balance TYPE bigint");
    await write({ a1: 5, a2: 5 }, "UPDATE accounts SET balance = 2 WHERE id = 1");
    await pool.query("ALTER TABLE accounts DROP more");
    await expect(write({ a2: 4 }, "UPDATE accounts SET balance = 2 WHERE id = 1")).rejects.toMatchObject(stale);
  });

  test("createGuard() registers a name once in a transaction, and again with another token", async () => {
    await guard();
    await inTransaction(async (client) => {
      const version = async () =>
        (await client.query("SELECT ctid FROM holdfast_fences WHERE name = 'a'")).rows[0].ctid;
      await fenced(client, { resources: ["a"], fence: 5 });
      await client.query("UPDATE accounts SET balance = 1 WHERE id = 1");
      const first = await version();
      await client.query("INSERT INTO accounts SELECT n, 'a' FROM generate_series(10, 2000) AS n");
      await client.query("SAVEPOINT later");
      await client.query("UPDATE accounts SET balance = 1 WHERE lock_name = 'a'");
      expect(await version()).toBe(first);
      await fenced(client, { resources: ["a"], fence: 6 });
      await client.query("UPDATE accounts SET balance = 2 WHERE id = 1");
      expect(await version()).not.toBe(first);
      await fenced(client, { resources: ["a"], fence: 5 });
      await expect(client.query("UPDATE accounts SET balance = 3 WHERE id = 1")).rejects.toMatchObject(stale);
      await client.query("ROLLBACK TO later");
      await client.query("UPDATE accounts SET balance = 4 WHERE id = 1");
    });
    expect(await fences()).toEqual({ a: 5 });
  });

  test("createGuard() forgets nothing with more names in a transaction than it remembers", async () => {
    await guard();
    const names = Array.from({ length: 250 }, (_, index) => [`n${index}`, 5]);
    const insert = "INSERT INTO accounts SELECT 10 + n, 'n' || n % 250 FROM generate_series(0, 999) AS n";
    await write(Object.fromEntries(names), insert);
    await expect(
      write({ ...Object.fromEntries(names), n7: 4 }, "UPDATE accounts SET balance = 1 WHERE id > 9"),
    ).rejects.toMatchObject(stale);
  });

  test("createGuard() forgets a token with the savepoint or the transaction that has registered it", async () => {
    await guard();
    await inTransaction(async (client) => {
      await client.query(`SET LOCAL holdfast.fence = '{"a": 7}'`);
      await client.query("SAVEPOINT here");
      await client.query("UPDATE accounts SET balance = 1 WHERE id = 1");
      await client.query("ROLLBACK TO here");
      await write({ a: 6 }); // does not wait
      await client.query("UPDATE accounts SET balance = balance + 10 WHERE id = 1");
      await expect(
        write({ a: 6 }, "SET LOCAL lock_timeout = 50; UPDATE accounts SET balance = 1 WHERE id = 2"),
      ).rejects.toMatchObject({ code: "55P03" });
      await client.query("ROLLBACK TO here");
    });
    await write({ a: 6 });
    expect(await fences()).toEqual({ a: 6 });
    await expect(write(null)).rejects.toMatchObject(missing); // over the same connection
  });
});

describe.each(["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])("at %s, createGuard()", (level) => {
  test("createGuard() lets transactions under one token write one after the other", async () => {
    await guard();
    await write({ a: 5 });
    const [first, second] = [await begin(5, level), await begin(5, level)];
    await first.query(add(1));
    await write({ b: 1 }, add(3));
    const waiting = outcomeOf(second.query(add(2)));
    await database.oneWaits();
    await end(first);
    const outcome = await waiting;
    expect(orSerialize(level, "done")).toContain(outcome);
    await end(second, outcome === "done" ? "COMMIT" : "ROLLBACK");
    expect(await balances()).toEqual([2, outcome === "done" ? 1 : 0, 1]);
  });
});

describe("the rights of writers", () => {
  const asUser = async (step: (client: pg.PoolClient) => Promise<unknown>) =>
    inTransaction(async (client) => {
      await client.query(`SET LOCAL ROLE writer${schemas}`);
      return step(client);
    });
  const denied = { code: "42501" };

  beforeEach(async () => {
    await guard();
    await pool.query(`CREATE ROLE writer${schemas}; GRANT CREATE, USAGE ON SCHEMA ${schema} TO writer${schemas};
      GRANT ALL ON accounts TO writer${schemas}`);
  });
  afterEach(() => pool.query(`DROP OWNED BY writer${schemas}; DROP ROLE writer${schemas}`));

  test("createGuard() wants nothing of a writer but its rights on the table", async () => {
    const update = async (fence: number) =>
      asUser(async (client) => {
        await fenced(client, { resources: ["a"], fence });
        await client.query(add(1));
      });
    await update(5);
    await expect(update(4)).rejects.toMatchObject(stale);
  });

  test.each([
    "DELETE FROM holdfast_fences",
    "INSERT INTO holdfast_fences VALUES ('a', 1, 1)",
    "SELECT holdfast_register('a', '{}', true, 'accounts'::regclass)",
    "SELECT holdfast_admit('a', 'accounts'::regclass, 'warn')",
    "SELECT holdfast_register_read('{}', true)",
    `CREATE TABLE own (lock_name text);
     CREATE TRIGGER own AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION holdfast_guard_accounts('warn')`,
    "TRUNCATE accounts",
    "ALTER TABLE accounts DISABLE TRIGGER holdfast_guard",
    "SET session_replication_role = replica",
  ])("createGuard() lets a writer not do this: %s", async (statement) => {
    await expect(asUser((client) => client.query(statement))).rejects.toMatchObject({
      code: statement.startsWith("TRUNCATE") ? "LF405" : "42501",
    });
  });

  test("createGuard() uses no function or operator that a writer has put into its search path", async () => {
    const evil = `CREATE FUNCTION current_setting(text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT '{"a": 9}' $$;
      CREATE FUNCTION coalesced(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
      CREATE OPERATOR = (leftarg = text, rightarg = text, function = coalesced);
      SET LOCAL search_path = ${schema}, pg_catalog`;
    const attempt = asUser(async (client) => {
      await client.query(evil);
      return client.query(add(1));
    });
    await expect(attempt).rejects.toMatchObject(missing);
  });

  test("registerRead() needs a right of its own", async () => {
    const read = () => asUser((client) => registerRead(client, { resources: ["a"], fence: 5 }, { schema }));
    await expect(read()).rejects.toMatchObject(denied);
    await pool.query(`GRANT EXECUTE ON FUNCTION holdfast_register_read TO writer${schemas}`);
    await read();
    expect(await fences()).toEqual({ a: 5 });
  });
});

describe("the mode of createGuard()", () => {
  /** Runs statements under tokens, and resolves with the warnings. */
  const warnings = (tokens: object, ...statements: string[]) =>
    inTransaction(async (client) => {
      const seen: string[] = [];
      const note = (notice: { message?: string | undefined }) => seen.push(notice.message ?? "");
      client.on("notice", note);
      await client.query("SELECT set_config('holdfast.fence', $1, true)", [JSON.stringify(tokens)]);
      for (const statement of statements) await client.query(statement);
      client.off("notice", note);
      return seen;
    });

  test("createGuard() only warns in the mode warn, once for each lock in a transaction, and registers valid tokens", async () => {
    await guard({ column: "lock_name" }, "warn");
    expect(await warnings({ a: 5, b: 5 }, "UPDATE accounts SET balance = 1")).toEqual([]);
    expect(await warnings({ a: 4 }, "UPDATE accounts SET balance = 2", "UPDATE accounts SET balance = 3")).toEqual([
      `could not write to ${schema}.accounts of lock a with fence 4: fence 5 is registered already`,
      `could not write to ${schema}.accounts of lock b: the transaction has stated no fencing token for it`,
    ]);
    expect(await warnings({ a: "x" }, add(1))).toEqual([expect.stringContaining("malformed")]);
    expect(await warnings({}, "TRUNCATE accounts")).toEqual([expect.stringContaining("TRUNCATE")]);
    expect(await fences()).toEqual({ a: 5, b: 5 });
  });

  test("createGuard() does not fail a transaction in the mode warn, at any isolation level", async () => {
    await guard({ column: "lock_name" }, "warn");
    await write({ a: 5 });
    const older = await begin(5, "REPEATABLE READ");
    await older.query("SELECT FROM accounts");
    await write({ a: 6 });
    await older.query(add(2));
    await end(older);
    expect(await balances()).toEqual([2, 1, 0]);
  });

  test("createGuard() refuses in one table what it has warned of in another", async () => {
    await pool.query("CREATE TABLE others (lock_name text)");
    await guard({ column: "lock_name" }, "warn");
    await guard({ table: "others", column: "lock_name" }, "refuse");
    await write({ a: 5 });
    await expect(warnings({ a: 4 }, add(1), "INSERT INTO others VALUES ('a')")).rejects.toMatchObject(stale);
  });

  test("removeGuard() leaves no function behind", async () => {
    await guard();
    await database.removeGuard();
    const left = "SELECT proname FROM pg_proc WHERE pronamespace = $1::regnamespace AND proname LIKE 'holdfast_guard%'";
    expect((await pool.query(left, [schema])).rows).toEqual([]);
  });

  test("createGuard() finds the lock whatever the writer makes of backslashes", async () => {
    await guard({ name: odd });
    await pool.query("SET standard_conforming_strings = off");
    await write({ [odd]: 6 });
    expect(await fences()).toEqual({ [odd]: 6 });
  });

  test("createGuard() does not see writes while triggers are off, as its page says", async () => {
    await guard();
    await inTransaction(async (client) => {
      await client.query("SET LOCAL session_replication_role = replica");
      await client.query(add(1));
    });
    await pool.query(`ALTER TABLE accounts DISABLE TRIGGER holdfast_guard; ${add(1)}`);
    expect(await balances()).toEqual([2, 0, 0]);
  });
});

describe("registerRead()", () => {
  const read = (fence: number, client: pg.PoolClient, mode?: "exclusive" | "shared") =>
    registerRead(client, { resources: ["a"], fence }, { schema, mode });

  test("registerRead() refuses a transaction that is READ ONLY, and unknown options; fenced() does not write", async () => {
    await guard();
    const readOnly = inTransaction((client) => read(5, client), "READ COMMITTED READ ONLY");
    await expect(readOnly).rejects.toThrow("not one that is READ ONLY");
    const lock = { resources: ["a"], fence: 5 };
    await inTransaction((client) => fenced(client, lock), "READ COMMITTED READ ONLY");
    const bad = inTransaction((client) => registerRead(client, lock, { scheme: "x" } as object));
    await expect(bad).rejects.toThrow("did you mean schema");
    await expect(fenced(pool as never, lock)).rejects.toThrow("not a Pool");
    const write = inTransaction((client) => registerRead(client, lock, { mode: "write" as never }));
    await expect(write).rejects.toThrow('mode must be "exclusive" or "shared", not "write"');
  });
});

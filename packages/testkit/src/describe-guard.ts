/** The tests of guarded tables that every database must pass. */
import { describe, expect, test } from "vitest";

/** A row of a result. */
type Row = Readonly<Record<string, unknown>>;

interface Tokens {
  readonly resources: readonly string[];
  readonly fence: number;
}

/** How the lock of a row is found. */
interface Rule {
  readonly table?: string;
  readonly column?: string;
  readonly name?: string;
  readonly expression?: string;
}

/**
 * A database whose table `accounts` has the columns `id`, `lock_name` and `balance`, and a row with a balance of 0 for each
 * of (1, a), (2, a) and (3, b). Each test gets a new one.
 */
export interface GuardedDatabase<Client> {
  /** Guards a table by a rule: `accounts` by its column `lock_name` unless told otherwise. */
  guard(rule?: Rule, mode?: "warn" | "refuse"): Promise<unknown>;
  /** Removes the guard of `accounts`. */
  removeGuard(): Promise<unknown>;
  /** Opens a transaction on a connection of its own. */
  begin(level?: string): Promise<Client>;
  /** Ends a transaction, and gives its connection back. */
  end(client: Client, how?: "COMMIT" | "ROLLBACK"): Promise<void>;
  /** Runs a statement in a transaction, or by itself, and resolves with its rows. */
  query(statement: string, client?: Client): Promise<readonly Row[]>;
  /** Inserts a row into `accounts` for each name. */
  insert(client: Client, names: readonly string[]): Promise<unknown>;
  /** Works under tokens that are stated as another tool would, if any are. */
  underTokens(client: Client, text: string | null, work: () => Promise<unknown>): Promise<unknown>;
  /** Works under a token of `fenced`. */
  fenced(client: Client, lock: Tokens, work: () => Promise<unknown>): Promise<unknown>;
  registerRead(client: Client, lock: Tokens, options?: { readonly mode?: "exclusive" | "shared" }): Promise<unknown>;
  /** Resolves when a connection waits for a row lock. */
  oneWaits(): Promise<void>;
  /** The property of an error with its SQLSTATE. */
  readonly state: "code" | "sqlState";
  /** Returns the SQLSTATE of an error, or what tells it from others. */
  outcomeOf(error: unknown): string;
  /** The outcomes of a step that would have this outcome if it did not follow another transaction, by isolation level. */
  afterWaiting(level: string, outcome: string): readonly string[];
  /** The same for a step whose snapshot is older than another transaction. */
  afterSnapshot(level: string, outcome: string): readonly string[];
  /** The levels at which a reader lets others write. */
  readonly levelsOfSnapshots: readonly string[];
  /** How a message calls the table `accounts`. */
  tableName(): string;
  /** The end of a message about a token that is too old. */
  readonly isRegistered: string;
  /** The length of a long name. */
  readonly longName: number;
  /** Malformed tokens besides those that each database refuses. */
  readonly malformed: readonly string[];
  /** Rules that find the lock of the first row. */
  readonly rules: readonly (readonly [title: string, rule: Rule, lock: string])[];
  /** Statements, and the names that they write to. */
  readonly writes: readonly (readonly [title: string, statement: string, names: readonly string[]])[];
}

/** Returns a statement that changes a row. */
export const add = (id: number) => `UPDATE accounts SET balance = balance + 1 WHERE id = ${id}`;

/** Returns a token of the lock `a`. */
export const lockA = (fence: number): Tokens => ({ resources: ["a"], fence });

/** Returns what the tests of guarded tables share. */
export function toolsFor<Client>(database: GuardedDatabase<Client>) {
  const refusal = (state: string) => ({ [database.state]: state });

  /** Runs a step in a transaction, which is rolled back if the step fails. */
  async function inTransaction<T>(step: (client: Client) => Promise<T>, level?: string): Promise<T> {
    const client = await database.begin(level);
    try {
      const result = await step(client);
      await database.end(client);
      return result;
    } catch (error) {
      await database.end(client, "ROLLBACK");
      throw error;
    }
  }

  return {
    inTransaction,
    /** Runs a statement in a transaction that states these tokens as another tool would. */
    write(tokens: object | string | null, statement = add(1)): Promise<unknown> {
      const text = tokens !== null && typeof tokens === "object" ? JSON.stringify(tokens) : tokens;
      return inTransaction((client) => database.underTokens(client, text, () => database.query(statement, client)));
    },
    balances: async () =>
      (await database.query("SELECT balance FROM accounts ORDER BY id")).map(({ balance }) => balance),
    fences: async () =>
      Object.fromEntries(
        (await database.query("SELECT name, fence FROM holdfast_fences")).map(({ name, fence }) => [
          `${name}`,
          +`${fence}`,
        ]),
      ),
    stale: refusal("LF409"),
    missing: refusal("LF428"),
    malformed: refusal("LF400"),
    unnamed: refusal("LF405"),
    /** Resolves with `done`, or with the outcome of an error. */
    outcomeOf: (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => "done",
        (error) => database.outcomeOf(error),
      ),
  };
}

/** Tests what is true of guarded tables in every database. */
export function describeGuard<Client>(database: GuardedDatabase<Client>): void {
  describeTokens(database);
  describeRows(database);
  for (const level of ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]) describeLevel(database, level);
  describeReads(database);
}

function describeTokens<Client>(database: GuardedDatabase<Client>): void {
  const { write, balances, fences, stale, missing, malformed } = toolsFor(database);

  test.each([null, "", "{}", '{"b": 5}', '{"a": null}'])(
    "createGuard() refuses a write without a token for the lock of the row: %s",
    async (tokens) => {
      await database.guard();
      const message = `could not write to ${database.tableName()} of lock a: the transaction has stated no fencing token for it`;
      await expect(write(tokens)).rejects.toMatchObject({ ...missing, message });
      expect(await balances()).toEqual([0, 0, 0]);
      expect(await fences()).toEqual({});
    },
  );

  const values = ['"x"', "1.5", "true", "{}", "1e30", "0", "-5", "9007199254740992"].map((value) => `{"a": ${value}}`);
  test.each(["a", "42", "[5]", '{"a": 5', ...values, ...database.malformed])(
    "createGuard() refuses a malformed token: %s",
    async (tokens) => {
      await database.guard();
      await expect(write(tokens)).rejects.toMatchObject(malformed);
      expect(await balances()).toEqual([0, 0, 0]);
    },
  );

  test("createGuard() accepts the newest token of the lock, refuses older ones, and remembers each lock by itself", async () => {
    await database.guard();
    await write({ a: 5 });
    await write({ a: 5, b: 1 });
    await write({ b: 1 }, "UPDATE accounts SET balance = 7 WHERE id = 3");
    const message = `could not write to ${database.tableName()} of lock a with fence 4: fence 5 ${database.isRegistered}`;
    await expect(write({ a: 4 })).rejects.toMatchObject({ ...stale, message });
    await write('{"a": "6"}');
    expect(await fences()).toEqual({ a: 6, b: 1 });
    await write({ a: 10 });
    await expect(write({ a: 9 })).rejects.toMatchObject(stale);
    await write({ a: Number.MAX_SAFE_INTEGER });
    await expect(write({ a: Number.MAX_SAFE_INTEGER - 1 })).rejects.toMatchObject(stale);
    expect(await balances()).toEqual([5, 0, 7]);
  });
}

function describeRows<Client>(database: GuardedDatabase<Client>): void {
  const { write, balances, fences, stale, missing, outcomeOf } = toolsFor(database);

  test.each(database.rules)("createGuard() finds the lock of a row by %s", async (_, rule, lock) => {
    await database.guard(rule);
    await expect(write({ other: 5 })).rejects.toMatchObject(missing);
    await write({ [lock]: 5 });
    await expect(write({ [lock]: 4 })).rejects.toMatchObject(stale);
    expect(await fences()).toEqual({ [lock]: 5 });
  });

  test.each(database.writes)(
    "createGuard() wants a token for each lock that is written by %s",
    async (_, statement, names) => {
      await database.guard();
      for (const name of names) {
        const others = Object.fromEntries(names.filter((other) => other !== name).map((other) => [other, 5]));
        const message = expect.stringContaining(`lock ${name}:`);
        await expect(write(others, statement)).rejects.toMatchObject({ ...missing, message });
      }
      expect(await balances()).toEqual([0, 0, 0]);
      const all = Object.fromEntries(names.map((name) => [name, 5]));
      await write(all, statement);
      expect(await fences()).toEqual(all);
    },
  );

  test.each(database.levelsOfSnapshots)(
    "createGuard() refuses an older writer whose snapshot at %s is from before the newer writer's commit",
    async (level) => {
      await database.guard();
      await write({ a: 5 });
      const older = await database.begin(level);
      for (const table of ["accounts", "holdfast_fences"]) await database.query(`SELECT * FROM ${table}`, older);
      await write({ a: 6 });
      const late = outcomeOf(database.fenced(older, lockA(5), () => database.query(add(2), older)));
      expect(database.afterSnapshot(level, "LF409")).toContain(await late);
      await database.end(older, "ROLLBACK");
    },
  );

  test("createGuard() changes the mode and the rule, and removeGuard() removes it; the tokens stay", async () => {
    await database.guard(undefined, "warn");
    await write({ a: 5 });
    await write({});
    await database.guard();
    await expect(write({ a: 4 })).rejects.toMatchObject(stale);
    await database.removeGuard();
    await database.removeGuard();
    await write({ a: 4 });
    await database.guard({ name: "a" });
    await expect(write({ a: 4 }, add(3))).rejects.toMatchObject(stale);
  });
}

function describeLevel<Client>(database: GuardedDatabase<Client>, level: string): void {
  const { write, balances, fences, outcomeOf } = toolsFor(database);
  const begin = () => database.begin(level);
  const change = (client: Client, fence: number, id: number) =>
    database.fenced(client, lockA(fence), () => database.query(add(id), client));
  const endAs = (client: Client, outcome: string) => database.end(client, outcome === "done" ? "COMMIT" : "ROLLBACK");

  describe(`at ${level}, createGuard()`, () => {
    test("createGuard() lets an older writer that was first commit before a newer one", async () => {
      await database.guard();
      const [older, newer] = [await begin(), await begin()];
      await change(older, 5, 1);
      const waiting = outcomeOf(change(newer, 6, 2));
      await database.oneWaits();
      await database.end(older);
      const outcome = await waiting;
      expect(database.afterWaiting(level, "done")).toContain(outcome);
      await endAs(newer, outcome);
      expect(await fences()).toEqual({ a: outcome === "done" ? 6 : 5 });
    });

    test("createGuard() refuses an older writer that waits for a newer one, and one that comes later", async () => {
      await database.guard();
      const [older, newer] = [await begin(), await begin()];
      await change(newer, 6, 1);
      const outcome = outcomeOf(change(older, 5, 2));
      await database.oneWaits();
      await database.end(newer);
      expect(database.afterWaiting(level, "LF409")).toContain(await outcome);
      await database.end(older, "ROLLBACK");
      const last = await begin();
      expect(await outcomeOf(change(last, 5, 2))).toBe("LF409");
      await database.end(last, "ROLLBACK");
      expect(await balances()).toEqual([1, 0, 0]);
    });

    test("createGuard() accepts an older writer after a newer one that was rolled back", async () => {
      await database.guard();
      const [older, newer] = [await begin(), await begin()];
      await change(newer, 6, 1);
      const waiting = change(older, 5, 2);
      await database.oneWaits();
      await database.end(newer, "ROLLBACK");
      await waiting;
      await database.end(older);
      expect(await fences()).toEqual({ a: 5 });
      expect(await balances()).toEqual([0, 1, 0]);
    });

    test("registerRead() lets a newer holder read what an older one has written in the transaction it waits for", async () => {
      await database.guard();
      await write({ a: 5 }); // the token is registered
      const [older, newer] = [await begin(), await begin()];
      await change(older, 5, 1);
      const waiting = outcomeOf(database.registerRead(newer, { resources: ["b", "a"], fence: 6 }));
      await database.oneWaits();
      await database.end(older);
      const outcome = await waiting;
      expect(database.afterWaiting(level, "done")).toContain(outcome);
      if (outcome === "done") {
        expect(await database.query("SELECT balance FROM accounts WHERE id = 1", newer)).toEqual([{ balance: 2 }]);
      }
      await endAs(newer, outcome);
    });
  });
}

function describeReads<Client>(database: GuardedDatabase<Client>): void {
  const { inTransaction, write, balances, fences, stale, missing } = toolsFor(database);
  const read = (client: Client, fence: number, mode?: "exclusive" | "shared") =>
    database.registerRead(client, lockA(fence), mode && { mode });
  const readAlone = (fence: number, mode?: "exclusive" | "shared") =>
    inTransaction((client) => read(client, fence, mode));
  const refused = {
    ...stale,
    message: `could not register a read of lock a with fence 5: fence 6 ${database.isRegistered}`,
  };

  test.each(["exclusive", "shared"] as const)(
    "registerRead() keeps older holders from writing, from the commit of an %s holder on",
    async (mode) => {
      await database.guard();
      await readAlone(6, mode);
      await expect(write({ a: 5 })).rejects.toMatchObject(stale);
      await expect(readAlone(5)).rejects.toMatchObject(refused);
      expect(await fences()).toEqual({ a: 6 });
    },
  );

  test("registerRead() keeps older holders from writing during the transaction, without a deadlock", async () => {
    await database.guard();
    await readAlone(6);
    await inTransaction(async (newer) => {
      await read(newer, 7);
      const older = inTransaction(async (late) => {
        await read(late, 6);
        await database.fenced(late, lockA(6), () => database.query(add(1), late));
      });
      const outcome = expect(older).rejects.toMatchObject(stale);
      await database.oneWaits();
      await database.fenced(newer, lockA(7), () => database.query(add(1), newer));
      await database.query("COMMIT", newer);
      await outcome;
    });
    expect(await balances()).toEqual([1, 0, 0]);
  });

  test("registerRead() refuses readers after a newer exclusive holder, and not after a newer reader", async () => {
    await database.guard();
    await readAlone(6, "shared");
    await readAlone(5, "shared");
    await write({ a: 6 });
    await readAlone(6, "shared");
    await expect(readAlone(5, "shared")).rejects.toMatchObject(refused);
    await readAlone(7);
    await expect(readAlone(6, "shared")).rejects.toMatchObject(stale);
  });

  test("registerRead() lets readers read at once, keeps a newer writer out meanwhile, and lets no reader write", async () => {
    await database.guard();
    await readAlone(6, "shared");
    await inTransaction(async (first) => {
      await read(first, 6, "shared");
      await inTransaction((second) => read(second, 5, "shared"));
      const newer = write({ a: 7 });
      await database.oneWaits();
      expect(await database.query("SELECT balance FROM accounts WHERE id = 1", first)).toEqual([{ balance: 0 }]);
      await database.query("COMMIT", first);
      await newer;
    });
    const writing = inTransaction(async (client) => {
      await read(client, 8, "shared");
      await database.query(add(1), client);
    });
    await expect(writing).rejects.toMatchObject(missing);
  });

  test("registerRead() and fenced() take locks on several names, one after the other, whatever the names are", async () => {
    await database.guard();
    const odd = ["prüfer 🔒", 'a", "b": 9, "', "\\", "__proto__", "?", "a", "A", "\t\n", "\v\x1f\\u001f"];
    const names = [...odd, "x".repeat(database.longName)];
    const lock = { resources: names, fence: 5 };
    await inTransaction(async (client) => {
      await database.registerRead(client, lock);
      const other = () => database.fenced(client, { resources: ["b"], fence: 1 }, () => database.query(add(3), client));
      await database.fenced(client, lock, () => database.insert(client, names).then(other));
    });
    expect(await fences()).toEqual({ ...Object.fromEntries(names.map((name) => [name, 5])), b: 1 });
  });
}

const rule = { table: "accounts", name: "a" };

/** Tests that options are refused, and how: those that every database refuses, and others. */
export function testBadOptions(
  createGuard: (options: never) => unknown,
  others: readonly (readonly [title: string, options: object, message: string])[],
): void {
  test.each<readonly [string, object, string]>([
    ["no table", { tables: [] }, "tables must be a list of one table or more"],
    ["no list", { tables: rule }, "tables must be a list of one table or more"],
    ["no name of a table", { tables: [{ name: "a" }] }, "table must be a string, not undefined"],
    ["no rule", { tables: [{ table: "t" }] }, "the table t needs one of column, name and expression, not 0"],
    ["two rules", { tables: [{ ...rule, column: "a" }] }, "accounts needs one of column, name and expression, not 2"],
    ["another mode", { tables: [rule], mode: "log" }, 'mode must be "warn" or "refuse", not "log"'],
    ["an unknown option", { tables: [rule], modes: "warn" }, "did you mean mode"],
    ["an unknown option of a table", { tables: [{ ...rule, expr: "1" }] }, "expr"],
    ...others,
  ])("createGuard() refuses %s", (_, options, message) => {
    expect(() => createGuard(options as never)).toThrow(message);
  });
}

import { Redlock } from "@holdfast/core";
import { type PostgresNode, postgresNode } from "@holdfast/postgres";
import { describeHolds, type HoldingDatabase, holdingTests } from "@holdfast/testkit/describe-holds";
import pg from "pg";
import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { freshTable, inTransactionOf, serverOfFile } from "./servers.ts";

const { connectionString } = await serverOfFile();
let pool: pg.Pool;
let table: string;

/** For a busy machine: no test is about a server that takes long. */
const patient = { nodeTimeoutMs: 5_000 };

/** Ends the claims of all owners now. */
async function expire(): Promise<void> {
  await pool.query(`UPDATE "${table}" SET until = clock_timestamp(), sharers =
    (SELECT jsonb_object_agg(key, jsonb_set(value, '{0}', '1')) FROM jsonb_each(sharers)) WHERE owner IS NOT NULL`);
}

/** Runs a step in a transaction, which is rolled back if the step fails. */
const inTransaction = <T>(step: (client: pg.PoolClient) => Promise<T>, begin?: string) =>
  inTransactionOf(pool, step, begin);

const database: HoldingDatabase<pg.PoolClient, PostgresNode> = {
  async open() {
    table = await freshTable(connectionString);
    pool = new pg.Pool({ connectionString });
    pool.on("error", () => {});
    return postgresNode(pool, { table });
  },
  close: () => pool.end(),
  inTransaction,
  query: async (statement) => (await pool.query(statement)).rows,
  expire,
  countWaiting: "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
  begins: {
    "": undefined,
    ", at REPEATABLE READ": "BEGIN ISOLATION LEVEL REPEATABLE READ",
    ", at SERIALIZABLE": "BEGIN ISOLATION LEVEL SERIALIZABLE",
  },
  createWritten: "CREATE TABLE written (id serial, writer text)",
  pausedHolder: new URL("./fixtures/paused-holder.ts", import.meta.url),
  pausedHolderArguments: () => [connectionString, table],
};
const current = holdingTests(database);
describeHolds(database, current);

describe("holds()", () => {
  test("holds() resolves with false if another owner gets a resource while it waits for the row of another one", async () => {
    const blocker = await pool.connect();
    await blocker.query("BEGIN");
    await blocker.query(`SELECT FROM "${table}" WHERE name = 'invoice:41' FOR UPDATE`);
    const holds = inTransaction((client) => current.node.holds(client, current.lock));
    await expect
      .poll(async () => (await pool.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).rowCount)
      .toBe(1);
    await pool.query(`UPDATE "${table}" SET until = clock_timestamp() WHERE name = 'invoice:42'`);
    expect(await new Redlock([current.node], patient).tryAcquire("invoice:42")).not.toBeNull();
    await blocker.query("COMMIT");
    blocker.release();
    expect(await holds).toBe(false);
  });

  test("holds() lasts until ROLLBACK TO a savepoint that came before it, and past one that came after it", async () => {
    const rival = new Redlock([current.node], { nodeTimeoutMs: 200 });
    const isFree = () => rival.tryAcquire("invoice:42");
    await inTransaction(async (client) => {
      expect(await current.node.holds(client, current.lock)).toBe(true);
      await client.query("SAVEPOINT later");
      expect(await current.node.holds(client, current.lock)).toBe(true);
      await expire();
      await client.query("ROLLBACK TO later");
      expect(await isFree()).toBeNull();
    });
    await pool.query(`UPDATE "${table}" SET until = 'infinity' WHERE owner IS NOT NULL`);
    await inTransaction(async (client) => {
      await client.query("SAVEPOINT earlier");
      expect(await current.node.holds(client, current.lock)).toBe(true);
      await expire();
      await client.query("ROLLBACK TO earlier");
      expect(await isFree()).not.toBeNull();
      expect(await current.node.holds(client, current.lock)).toBe(false);
    });
  });

  test("holds() keeps others out until a prepared transaction is committed", async () => {
    const rival = new Redlock([current.node], patient);
    const client = await pool.connect();
    await client.query("BEGIN");
    expect(await current.node.holds(client, current.lock)).toBe(true);
    await client.query("PREPARE TRANSACTION 'later'");
    client.release(true);
    await expire();
    const blocked = rival.acquire("invoice:42", { waitTimeoutMs: 0 });
    await expect(blocked).rejects.toThrow(
      "could not lock invoice:42: a transaction that called holds() or locks the table blocks it",
    );
    await pool.query("COMMIT PREPARED 'later'");
    expect(await rival.tryAcquire("invoice:42")).not.toBeNull();
  });

  describe.each(["REPEATABLE READ", "SERIALIZABLE"])("at isolation level %s", (level) => {
    const begin = `BEGIN ISOLATION LEVEL ${level}`;
    /** Calls `holds` in a transaction that took its snapshot before the step. */
    const afterSnapshot = (step: () => Promise<unknown>): Promise<boolean> =>
      inTransaction(async (client) => {
        await client.query("SELECT 1 FROM pg_class LIMIT 1");
        await step();
        return current.node.holds(client, current.lock);
      }, begin);

    test("holds() sees the claim if it was extended since the snapshot", async () => {
      expect(await afterSnapshot(() => current.lock.extend({ ttlMs: 120_000 }))).toBe(true);
    });

    const passes: [string, () => Promise<void>][] = [
      ["was released and", () => current.lock.release()],
      ["ended, and", expire],
    ];
    test.each(passes)(
      "holds() fails with a serialization error if the claim %s another one was granted since the snapshot",
      async (_, end) => {
        const pass = async (): Promise<void> => {
          await end();
          expect(await new Redlock([current.node], patient).tryAcquire("invoice:42")).not.toBeNull();
        };
        await expect(afterSnapshot(pass)).rejects.toMatchObject({ code: "40001" });
      },
    );
  });

  test("holds() refuses anything but a client in a transaction", async () => {
    const client = await pool.connect();
    const sql = postgres(connectionString, { onnotice: () => {} });
    const reserved = await sql.reserve();
    try {
      for (const given of [pool, client, sql, reserved, {}, undefined]) {
        await expect(current.node.holds(given as never, current.lock)).rejects.toThrow(
          /^the transaction must be a client in a transaction, or a function .* in one, not /,
        );
      }
      await reserved.unsafe("BEGIN");
      expect(await current.node.holds(reserved, current.lock)).toBe(true);
      await reserved.unsafe("COMMIT");
      // Older versions of pg do not tell whether a client is in a transaction.
      Object.assign(client, { getTransactionStatus: undefined });
      await expect(current.node.holds(client, current.lock)).rejects.toThrow(
        "not a client without a transaction: run BEGIN first",
      );
      await client.query("BEGIN");
      expect(await current.node.holds(client, current.lock)).toBe(true);
      await client.query("COMMIT");
    } finally {
      reserved.release();
      client.release(true);
      await sql.end();
    }
  });
});

test("holds() takes a function that runs statements in a transaction, and refuses what it cannot use", async () => {
  const refusal = (given: string) => new RegExp(`^the transaction must be a client .* in one, not ${given}$`);
  await inTransaction(async (client) => {
    expect(
      await current.node.holds((text, values) => client.query(text, values).then(({ rows }) => rows), current.lock),
    ).toBe(true);
    const whole = (text: string, values: unknown[]) => client.query(text, values);
    await expect(current.node.holds(whole as never, current.lock)).rejects.toThrow(
      refusal("a function that .* but an array of rows"),
    );
  });
  const alone = (text: string, values: unknown[]) => pool.query(text, values).then(({ rows }) => rows);
  await expect(current.node.holds(alone, current.lock)).rejects.toThrow(
    refusal("a client without a transaction: run BEGIN first"),
  );
  const readOnly = inTransaction((client) => current.node.holds(client, current.lock), "BEGIN READ ONLY");
  await expect(readOnly).rejects.toThrow(refusal("one that is READ ONLY: a row is locked"));
  const swallowing = (text: string, values: unknown[]) => alone(text, values).catch(() => []);
  await expect(current.node.holds(swallowing, current.lock)).rejects.toThrow(
    refusal("a client without a transaction: run BEGIN first"),
  );
  await inTransaction(async (client) => {
    const withMetadata = (text: string, values: unknown[]) =>
      client.query(text, values).then((result) => [result.rows, {}]);
    await expect(current.node.holds(withMetadata, current.lock)).rejects.toThrow(
      refusal("a function that .* but an array of rows"),
    );
  });
  const connecting = new pg.Client({ connectionString });
  const connected = connecting.connect();
  await expect(current.node.holds(connecting, current.lock)).rejects.toThrow(
    refusal("a client without a transaction: run BEGIN first"),
  );
  await connected;
  await connecting.end();
  const broken = async () => Promise.reject(new Error("the network is down"));
  await expect(current.node.holds(broken, current.lock)).rejects.toThrow(/^the network is down$/);
});

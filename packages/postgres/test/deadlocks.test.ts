import { postgresNode } from "@holdfast/postgres";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { freshTable } from "./servers.ts";

// The server reports a deadlock long before the lock timeout of a statement ends it.
const server = await startPostgresServer({ settings: { deadlock_timeout: "10ms" } });
const { connectionString } = server;
const pool = new pg.Pool({ connectionString, max: 20 });
pool.on("error", () => {});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

const resources = ["a", "b", "c", "d"];
const terms = { ttlMs: 60_000, timeoutMs: 60_000 };

/** Runs a statement in a transaction, and returns a function that ends the transaction. */
async function inTransaction(text: string, values: readonly unknown[] = []): Promise<() => Promise<void>> {
  const client = await pool.connect();
  await client.query("BEGIN");
  await client.query(text, [...values]);
  return async () => {
    await client.query("COMMIT");
    client.release();
  };
}

const requests = [
  { title: "extend()", shared: false, ends: { held: true, fence: 1 } },
  { title: "extend() of a shared claim", shared: true, ends: { held: true, fence: 1 } },
  { title: "release()", shared: false, ends: { released: true } },
  { title: "release() of a shared claim", shared: true, ends: { released: true } },
  { title: "acquire() with a waiter", shared: false, ends: { granted: false, holder: "alice" } },
  { title: "acquire() of a shared claim", shared: true, ends: { granted: true, fence: 1 } },
];

// Two requests see the first version of row c. One has locked the second version and waits for row d; the other waits for
// it. The transaction with holds() has a lock on both versions. A statement that then writes the row as its snapshot
// shows it waits for the first version, which the other request has locked meanwhile.
test.each(requests)(
  "$title waits for no request that waits for it, while a transaction holds the lock",
  async (request) => {
    const { title, shared, ends } = request;
    const logged = (await server.log()).length;
    const table = await freshTable(connectionString);
    const node = postgresNode(pool, { table, wakeUps: false });
    const extend = (names: readonly string[]) =>
      node.extend({ resources: names, owner: "alice", fence: 1, rejoin: false, shared, ...terms });
    const run = async (names: readonly string[]) => {
      if (title.startsWith("extend")) return extend(names);
      if (title.startsWith("release")) return node.release({ resources: names, owner: "alice", ...terms });
      return node.acquire({ resources: names, owner: "bob", fenceHint: 1, waiter: "bob", shared, ...terms });
    };
    const lockRow = (name: string) => inTransaction(`SELECT FROM "${table}" WHERE name = $1 FOR UPDATE`, [name]);
    const isWaiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    const waiting = () => expect.poll(async () => (await pool.query(isWaiting)).rowCount, { timeout: 30_000 });
    const free = (name: string) => pool.query(`SELECT FROM "${table}" WHERE name = $1 FOR UPDATE SKIP LOCKED`, [name]);
    /** Ends the transaction that has locked a row, and waits until the request that waited for the row has locked it. */
    const pass = async (name: string, end: () => Promise<void>): Promise<void> => {
      await end();
      await expect.poll(async () => (await free(name)).rowCount).toBe(0);
      await waiting().toBe(2);
    };

    const { fence } = (await node.acquire({ resources, owner: "alice", fenceHint: 1, shared, ...terms })) as {
      fence: number;
    };
    const ofA = await lockRow("a");
    const ofB = await lockRow("b");
    const ofD = await lockRow("d");
    const transaction = await pool.connect();
    await transaction.query("BEGIN");
    expect(await node.holds(transaction, { resources: ["c"], owner: "alice", fence })).toBe(true);
    const first = run(["a", "c", "d"]);
    await waiting().toBe(1);
    const second = extend(["b", "c"]);
    await waiting().toBe(2);
    await extend(["c"]);
    await pass("a", ofA);
    await pass("b", ofB);
    await ofD();
    expect(await first).toMatchObject(ends);
    await second;
    await transaction.query("COMMIT");
    transaction.release();
    expect((await server.log()).slice(logged)).not.toContain("deadlock detected");
  },
);

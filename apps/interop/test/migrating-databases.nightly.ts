import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { outputOf } from "./pages.ts";

const [postgres, etcd] = await Promise.all([startPostgresServer(), startEtcdServer()]);
afterAll(async () => void (await Promise.all([postgres.stop(), etcd.stop()])));
const alone = "alone with invoice:42";
const isHeld = "Failed to acquire a lock on invoice:42";

/** The output of the code under each heading of a page. */
const pages = {
  "from-pg-advisory-locks": [
    ["Before", alone],
    ["After", alone],
    ["After, in a transaction", "[ { total: 250 } ]"],
    ["Side by side", "[ { locked: false } ] null"],
  ],
  "from-row-locks": [
    ["Before", "alone with invoice 41"],
    ["After", "alone with invoice 42"],
    ["With graphile-worker", "sent invoice 43"],
    ["Side by side", "old process: 0", "new process: null"],
  ],
  "from-etcd3": [
    ["Before", alone],
    ["After", alone],
    ["Side by side", isHeld, "null", isHeld],
  ],
};

test.concurrent.each(Object.entries(pages))(
  "the code of %s.md prints what the page says",
  async (name, expected) => {
    const database = await freshDatabase(name);
    const printed = await outputOf(name, (code) =>
      code
        .replaceAll("postgres://holdfast@127.0.0.1:5432/postgres", database)
        .replaceAll("http://127.0.0.1:2379", etcd.url),
    );
    expect(printed).toEqual(expected.flat());
  },
  100_000,
);

/** Creates a database for a page, and returns its URL. */
async function freshDatabase(name: string): Promise<string> {
  const client = new pg.Client(postgres.connectionString);
  await client.connect();
  await client.query(`CREATE DATABASE "${name}"`);
  await client.end();
  return postgres.connectionString.replace(/postgres$/, name);
}

import {
  openConnections,
  pooledUrl,
  query,
  sharedDatabase,
  sharedPair,
  startDatabase,
  urlOfVersion,
  userOf,
} from "./postgres-lab.ts";
import { one, type Situation, several } from "./situation.ts";

const locking = "SELECT, INSERT, UPDATE";

/** Runs these statements, and returns the address of a table in the shared database. */
async function tableUrl(table: string, ...statements: readonly string[]): Promise<string> {
  const { connectionString } = await sharedDatabase();
  for (const statement of statements) await query(connectionString, statement);
  return `${connectionString}?table=${table}`;
}

/** Creates a user of the shared database, and returns the address for that user. */
async function userUrl(privileges: string, settings?: Readonly<Record<string, string>>): Promise<string> {
  return userOf(await sharedDatabase(), privileges, settings);
}

/** A situation for each finding about PostgreSQL. */
export const postgresSituations: readonly Situation[] = [
  several(
    "read-only",
    "a standby; a user with default_transaction_read_only on",
    ["same-machine", "even-number", "no-quorum", "idle-transactions"],
    async () => [
      (await sharedPair()).standby.connectionString,
      await userUrl(locking, { default_transaction_read_only: "on" }),
    ],
  ),
  one("table-missing", "a PostgreSQL database without the table", () => tableUrl("nothing"), ["no-quorum"]),
  one(
    "table-differs",
    "a table without the column waiters",
    () => tableUrl("differs", "CREATE TABLE differs (LIKE holdfast_locks)", "ALTER TABLE differs DROP waiters"),
    ["no-quorum"],
  ),
  one("table-unlogged", "a table after ALTER TABLE … SET UNLOGGED", () =>
    tableUrl("unlogged", "CREATE UNLOGGED TABLE unlogged (LIKE holdfast_locks INCLUDING ALL)"),
  ),
  one("permissions-missing", "a PostgreSQL user without UPDATE", () => userUrl("SELECT, INSERT"), ["no-quorum"]),
  one("version-unsupported", "a proxy changes the version of a PostgreSQL server to 12", async () =>
    urlOfVersion(await sharedDatabase(), 12),
  ),
  one("loses-commits", "a user with synchronous_commit off", () => userUrl(locking, { synchronous_commit: "off" })),
  one(
    "standby-behind",
    "a PostgreSQL server with an asynchronous standby",
    async () => (await sharedPair()).primary.connectionString,
  ),
  one("hidden", "a PostgreSQL server with a standby, and a user without pg_read_all_stats", async () =>
    userOf((await sharedPair()).primary, locking),
  ),
  one("connections-scarce", "a server with --max-connections 10, and 6 open connections", async () => {
    const server = await startDatabase({ max_connections: 10 });
    await openConnections(server, 5);
    return server.connectionString;
  }),
  one("notifications-lost", "PgBouncer in transaction mode", async () => pooledUrl(await sharedDatabase())),
  one("idle-transactions", "a user with idle_in_transaction_session_timeout 0", () =>
    userUrl(locking, { idle_in_transaction_session_timeout: "0" }),
  ),
];

import type { Report } from "../../src/doctor/report.ts";
import { examineServers } from "./lab.ts";
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
import type { Situation } from "./situation.ts";

const locking = "SELECT, INSERT, UPDATE";

/** Examines the shared server after these statements, over a table of its own. */
async function examineTable(table: string, ...statements: readonly string[]): Promise<Report> {
  const { connectionString } = await sharedDatabase();
  for (const statement of statements) await query(connectionString, statement);
  return examineServers([`${connectionString}?table=${table}`]);
}

/** A situation for each finding about PostgreSQL. */
export const postgresSituations: readonly Situation[] = [
  {
    code: "read-only",
    how: "a standby; a user with default_transaction_read_only on",
    also: ["same-machine", "even-number", "no-quorum", "idle-transactions"],
    examine: async () => {
      const { standby } = await sharedPair();
      const user = await userOf(await sharedDatabase(), locking, { default_transaction_read_only: "on" });
      return examineServers([standby.connectionString, user]);
    },
  },
  {
    code: "table-missing",
    how: "a PostgreSQL database without the table",
    also: ["no-quorum", "single-server"],
    examine: () => examineTable("nothing"),
  },
  {
    code: "table-differs",
    how: "a table without the column waiters",
    also: ["no-quorum", "single-server"],
    examine: () =>
      examineTable("differs", "CREATE TABLE differs (LIKE holdfast_locks)", "ALTER TABLE differs DROP waiters"),
  },
  {
    code: "table-unlogged",
    how: "a table after ALTER TABLE … SET UNLOGGED",
    examine: () => examineTable("unlogged", "CREATE UNLOGGED TABLE unlogged (LIKE holdfast_locks INCLUDING ALL)"),
  },
  {
    code: "permissions-missing",
    how: "a PostgreSQL user without UPDATE",
    also: ["no-quorum", "single-server"],
    examine: async () => examineServers([await userOf(await sharedDatabase(), "SELECT, INSERT")]),
  },
  {
    code: "version-unsupported",
    how: "a proxy changes the version of a PostgreSQL server to 12",
    examine: async () => examineServers([await urlOfVersion(await sharedDatabase(), 12)]),
  },
  {
    code: "loses-commits",
    how: "a user with synchronous_commit off",
    examine: async () => examineServers([await userOf(await sharedDatabase(), locking, { synchronous_commit: "off" })]),
  },
  {
    code: "standby-behind",
    how: "a PostgreSQL server with an asynchronous standby",
    examine: async () => examineServers([(await sharedPair()).primary.connectionString]),
  },
  {
    code: "hidden",
    how: "a PostgreSQL server with a standby, and a user without pg_read_all_stats",
    examine: async () => examineServers([await userOf((await sharedPair()).primary, locking)]),
  },
  {
    code: "connections-scarce",
    how: "a server with --max-connections 10, and 6 open connections",
    examine: async () => {
      const server = await startDatabase({ max_connections: 10 });
      await openConnections(server, 5);
      return examineServers([server.connectionString]);
    },
  },
  {
    code: "notifications-lost",
    how: "PgBouncer in transaction mode",
    examine: async () => examineServers([await pooledUrl(await sharedDatabase())]),
  },
  {
    code: "idle-transactions",
    how: "a user with idle_in_transaction_session_timeout 0",
    examine: async () =>
      examineServers([await userOf(await sharedDatabase(), locking, { idle_in_transaction_session_timeout: "0" })]),
  },
];

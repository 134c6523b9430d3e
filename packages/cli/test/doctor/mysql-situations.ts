import { startMysqlServer } from "@holdfast/testkit/mysql-server";
import { expect, onTestFinished } from "vitest";
import type { Report } from "../../src/doctor/report.ts";
import { examineServers } from "./lab.ts";
import {
  mysqlOfOldVersion,
  mysqlUserOf,
  openMysqlConnections,
  queryMysql,
  sharedMysql,
  sharedMysqlWith,
  startMysql,
} from "./mysql-lab.ts";
import type { Situation } from "./situation.ts";

const useless = ["no-quorum", "single-server"];

/** Examines the shared server while a global variable has another value. */
async function examineWith(name: string, value: number): Promise<Report> {
  return examineServers([await sharedMysqlWith(name, value)]);
}

/** Examines the shared server after these statements, over a table of its own. */
async function examineTable(table: string, ...statements: readonly string[]): Promise<Report> {
  const { uri } = await sharedMysql();
  await queryMysql(uri, ...statements);
  return examineServers([`${uri}?table=${table}`]);
}

/** Starts a server with a binary log and a replica, and returns the address of the server. */
async function uriWithReplica(): Promise<string> {
  const { uri, port } = await startMysql({ skip_log_bin: "OFF", log_bin: "binlog", server_id: 1, sync_binlog: 1 });
  const replica = await startMysqlServer({ settings: { server_id: 2 } });
  onTestFinished(() => replica.stop());
  const source = `MASTER_HOST = '127.0.0.1', MASTER_PORT = ${port}, MASTER_USER = 'holdfast'`;
  await queryMysql(replica.uri, `CHANGE MASTER TO ${source}`, "START SLAVE");
  await expect
    .poll(() => queryMysql(uri, "SHOW GLOBAL STATUS LIKE 'Slaves_connected'"))
    .toMatchObject([{ Value: "1" }]);
  return uri;
}

/** A situation for each finding about MySQL and MariaDB. */
export const mysqlSituations: readonly Situation[] = [
  {
    code: "read-only",
    how: "a MariaDB server after SET GLOBAL read_only = 1",
    also: useless,
    examine: () => examineWith("read_only", 1),
  },
  {
    code: "table-missing",
    how: "a MariaDB database without the table",
    also: useless,
    examine: () => examineTable("nothing"),
  },
  {
    code: "table-differs",
    how: "a table without the column epoch",
    also: useless,
    examine: () =>
      examineTable("differs", "CREATE TABLE differs LIKE holdfast_locks", "ALTER TABLE differs DROP COLUMN epoch"),
  },
  {
    code: "permissions-missing",
    how: "a MariaDB user without UPDATE",
    also: useless,
    examine: async () => examineServers([await mysqlUserOf(await sharedMysql(), "SELECT, INSERT")]),
  },
  {
    code: "version-unsupported",
    how: "a proxy changes the version of a MariaDB server to 0",
    examine: async () => examineServers([await mysqlOfOldVersion(await sharedMysql())]),
  },
  {
    code: "autocommit-off",
    how: "a server after SET GLOBAL autocommit = 0",
    also: useless,
    examine: () => examineWith("autocommit", 0),
  },
  {
    code: "loses-commits",
    how: "a MariaDB server after SET GLOBAL innodb_flush_log_at_trx_commit = 2",
    examine: () => examineWith("innodb_flush_log_at_trx_commit", 2),
  },
  {
    code: "standby-behind",
    how: "a MariaDB server with a replica",
    examine: async () => examineServers([await uriWithReplica()]),
  },
  {
    code: "connections-scarce",
    how: "a MariaDB server with max_connections 10, and 9 open connections",
    examine: async () => {
      const uri = await sharedMysqlWith("max_connections", 10);
      await openMysqlConnections(uri, 8);
      return examineServers([uri]);
    },
  },
];

import { startMysqlServer } from "@holdfast/testkit/mysql-server";
import { expect, onTestFinished } from "vitest";
import {
  mysqlOfOldVersion,
  mysqlUserOf,
  openMysqlConnections,
  queryMysql,
  sharedMysql,
  sharedMysqlWith,
  startMysql,
} from "./mysql-lab.ts";
import { one, type Situation } from "./situation.ts";

/** Runs these statements, and returns the address of a table in the shared database. */
async function tableUrl(table: string, ...statements: readonly string[]): Promise<string> {
  const { uri } = await sharedMysql();
  await queryMysql(uri, ...statements);
  return `${uri}?table=${table}`;
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
  one("read-only", "a MariaDB server after SET GLOBAL read_only = 1", () => sharedMysqlWith("read_only", 1), [
    "no-quorum",
  ]),
  one("table-missing", "a MariaDB database without the table", () => tableUrl("nothing"), ["no-quorum"]),
  one(
    "table-differs",
    "a table without the column epoch",
    () => tableUrl("differs", "CREATE TABLE differs LIKE holdfast_locks", "ALTER TABLE differs DROP COLUMN epoch"),
    ["no-quorum"],
  ),
  one(
    "permissions-missing",
    "a MariaDB user without UPDATE",
    async () => mysqlUserOf(await sharedMysql(), "SELECT, INSERT"),
    ["no-quorum"],
  ),
  one("version-unsupported", "a proxy changes the version of a MariaDB server to 0", async () =>
    mysqlOfOldVersion(await sharedMysql()),
  ),
  one("autocommit-off", "a server after SET GLOBAL autocommit = 0", () => sharedMysqlWith("autocommit", 0), [
    "no-quorum",
  ]),
  one("loses-commits", "a MariaDB server after SET GLOBAL innodb_flush_log_at_trx_commit = 2", () =>
    sharedMysqlWith("innodb_flush_log_at_trx_commit", 2),
  ),
  one("standby-behind", "a MariaDB server with a replica", uriWithReplica),
  one("connections-scarce", "a MariaDB server with max_connections 10, and 9 open connections", async () => {
    const uri = await sharedMysqlWith("max_connections", 10);
    await openMysqlConnections(uri, 8);
    return uri;
  }),
];

import type { LockNode } from "@holdfast/core";
import type { Pool, RowDataPacket } from "mysql2/promise";
import { measureClock, trialResource, tryLock } from "../../doctor/try-lock.ts";
import { within } from "../../within.ts";
import type { TableFacts } from "../database/database-server.ts";
import type { ExamineOptions } from "../server.ts";
import { type MysqlView, onEachCommit, versionOf } from "./mysql-findings.ts";

const clockQuery = "SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS nowUs";
const dumpsQuery =
  "SELECT COUNT(*) AS seen, SUM(command LIKE 'Binlog Dump%') AS dumps FROM information_schema.processlist";

/**
 * Makes the observations that the doctor judges. See `Server.examine`.
 *
 * @param lookAtTable describes the table of the locks; null if it does not exist
 */
export async function examineMysql(
  pool: Pool,
  node: LockNode,
  lookAtTable: () => Promise<TableFacts | null>,
  options: ExamineOptions,
): Promise<MysqlView> {
  const { answerTimeoutMs } = options;
  const ask = async (query: string): Promise<readonly RowDataPacket[]> => {
    const [rows] = await within(answerTimeoutMs, pool.query<RowDataPacket[]>(query));
    return rows;
  };
  const valuesOf = async (query: string): Promise<(name: string) => string | undefined> => {
    const values = new Map((await ask(query)).map((row) => [String(row.Variable_name).toLowerCase(), row.Value]));
    return (name) => values.get(name);
  };
  const setting = await valuesOf("SHOW VARIABLES");
  const status = await valuesOf("SHOW GLOBAL STATUS");
  const connections = Number(status("threads_connected"));
  const countReplicas = async (): Promise<number | null> => {
    if (setting("log_bin") === "OFF") return 0;
    const replicas = status("slaves_connected"); // of MariaDB
    if (replicas !== undefined) return Number(replicas);
    const [row] = await ask(dumpsQuery);
    return Number(row?.seen) < connections ? null : Number(row?.dumps);
  };
  const replicas = await countReplicas();
  const clock = await measureClock(async () => Number((await ask(clockQuery))[0]?.nowUs) / 1_000);
  const table = await within(answerTimeoutMs, lookAtTable());
  const { lockFailure, latency } = await tryLock(node, trialResource, options);
  const cluster = status("wsrep_cluster_state_uuid");
  const place = ["server_uuid", "server_uid", "hostname", "port", "datadir"].map((name) => setting(name) ?? "");
  const settings = {
    version: setting("version") ?? "",
    readOnly: setting("read_only") ?? "",
    transactionReadOnly: setting("transaction_read_only") ?? setting("tx_read_only") ?? "",
    autocommit: setting("autocommit") ?? "",
    flushLogAtCommit: setting("innodb_flush_log_at_trx_commit") ?? "",
    binaryLog: setting("log_bin") ?? "",
    syncBinaryLog: setting("sync_binlog") ?? "",
    connectionsMax: Number(setting("max_connections")),
  };
  return {
    ...{ kind: "mysql", latency, clock, settings, replicas, connections, table, lockFailure },
    summary: {
      identity: cluster || place.join(" "), // the members of a Galera cluster have the same
      version: versionOf(settings).text,
      uptimeMs: Number(status("uptime")) * 1_000,
      onDisk: onEachCommit.includes(settings.flushLogAtCommit) ? "always" : "everysec",
      members: Number(status("wsrep_cluster_size") ?? 0) || 1,
    },
  };
}

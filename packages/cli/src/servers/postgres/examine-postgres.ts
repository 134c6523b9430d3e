import { randomUUID } from "node:crypto";
import type { LockNode } from "@holdfast/core";
import type pg from "pg";
import { measureClock, trialResource, tryLock } from "../../doctor/try-lock.ts";
import { within } from "../../within.ts";
import type { ExamineOptions } from "../server.ts";
import type { PostgresTableFacts, PostgresView, Settings, Standbys } from "./postgres-findings.ts";

/** How long a notification may take, in milliseconds. */
const notificationTimeoutMs = 2_000;

const settingsQuery = `
  SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
    current_setting('server_version_num')::int AS "versionNumber",
    current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
    current_setting('synchronous_commit') AS "synchronousCommit",
    current_setting('default_transaction_read_only') AS "readOnly",
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      AS "connectionsMax",
    (SELECT setting::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout')
      AS "idleInTransactionTimeoutMs"`;

const stateQuery = `
  SELECT pg_is_in_recovery() AS standby, (SELECT sum(numbackends)::int FROM pg_stat_database) AS connections,
    extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8 * 1000 AS "uptimeMs"`;

const identityQuery = `
  SELECT system_identifier || ' ' || extract(epoch FROM pg_postmaster_start_time())::text AS identity
  FROM pg_control_system()`;

const standbysQuery = `
  SELECT count(*)::int AS count, count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))::int AS synchronous,
    count(*) FILTER (WHERE sync_state IS NULL)::int AS hidden
  FROM pg_stat_replication`;

/**
 * Makes the observations that the doctor judges. See `Server.examine`.
 *
 * @param lookAtTable describes the table of the locks; null if it does not exist
 * @param listener a connection outside of the pool, which is opened and closed here
 */
export async function examinePostgres(
  pool: pg.Pool,
  node: LockNode,
  lookAtTable: () => Promise<PostgresTableFacts | null>,
  listener: pg.Client,
  options: ExamineOptions,
): Promise<PostgresView> {
  const { answerTimeoutMs } = options;
  const ask = async <Row>(query: string): Promise<Row> => {
    const { rows } = await within(answerTimeoutMs, pool.query(query));
    return rows[0] as Row;
  };
  const settings = await ask<Settings>(settingsQuery);
  const state = await ask<{ standby: boolean; connections: number; uptimeMs: number }>(stateQuery);
  const { count, synchronous, hidden } = await ask<Standbys & { readonly hidden: number }>(standbysQuery);
  const identity = await ask<{ identity: string }>(identityQuery).catch(() => null);
  const clock = await measureClock(async () => {
    const { ms } = await ask<{ ms: number }>("SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms");
    return ms;
  });
  const table = await within(answerTimeoutMs, lookAtTable());
  const notifies = await tryNotification(listener, pool);
  const { lockFailure, latency } = await tryLock(node, trialResource, options);
  return {
    kind: "postgres",
    latency,
    clock,
    settings,
    isStandby: state.standby,
    standbys: { count, synchronous: hidden > 0 ? null : synchronous },
    connections: state.connections,
    table,
    notifies,
    lockFailure,
    summary: {
      identity: identity?.identity ?? null,
      version: `PostgreSQL ${settings.version}`,
      uptimeMs: state.uptimeMs,
      onDisk: settings.fsync === "off" || settings.synchronousCommit === "off" ? "no" : "always",
    },
  };
}

/**
 * Subscribes to a channel on a separate connection, as waiters do, and sends a notification to it.
 *
 * @returns whether it arrives; null if this cannot be tested
 */
async function tryNotification(listener: pg.Client, pool: pg.Pool): Promise<boolean | null> {
  const channel = `holdfast_doctor_${randomUUID().replaceAll("-", "")}`;
  const arrived = new Promise<true>((resolve) => {
    listener.on("notification", (message) => {
      if (message.channel === channel) resolve(true);
    });
  });
  listener.on("error", () => {});
  try {
    await within(notificationTimeoutMs, listener.connect());
    await within(notificationTimeoutMs, listener.query(`LISTEN ${channel}`));
    await within(notificationTimeoutMs, pool.query("SELECT pg_notify($1, '')", [channel]));
    return await within(notificationTimeoutMs, arrived).catch(() => false);
  } catch {
    return null;
  } finally {
    void listener.end().catch(() => {});
  }
}

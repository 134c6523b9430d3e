/** What the doctor may find about a PostgreSQL server. */
import type { ServerView } from "../../doctor/facts.ts";
import type { CommonRules, Findings, Specialist } from "../../doctor/finding-kind.ts";
import { listed } from "../../output/format.ts";
import type { TableFacts } from "./lock-table.ts";

/** The observations of a PostgreSQL server. Everything that its user may not see is null. */
export interface PostgresView extends ServerView {
  readonly kind: "postgres";
  readonly settings: Settings;
  /** A value that no other server has. */
  readonly identity: string | null;
  readonly uptimeMs: number;
  readonly isStandby: boolean;
  readonly standbys: Standbys;
  /** The number of open connections. */
  readonly connections: number;
  /** The table of the locks; null if it does not exist. */
  readonly table: TableFacts | null;
  /** Whether a notification arrived; null if this could not be tested. */
  readonly notifies: boolean | null;
}

/** The settings of a server that concern locks, in the words of PostgreSQL. */
export interface Settings {
  /** The version, such as `15.4`. */
  readonly version: string;
  /** The version as a number, such as 150004. */
  readonly versionNumber: number;
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly synchronousCommit: string;
  readonly readOnly: string;
  /** The number of connections that users may open. */
  readonly connectionsMax: number;
  /** The limit for an idle transaction in milliseconds; 0: no limit. */
  readonly idleInTransactionTimeoutMs: number;
}

/** The servers that replicate a server. */
export interface Standbys {
  readonly count: number;
  /** How many of them a commit may wait for; null if the user may not see it. */
  readonly synchronous: number | null;
}

const findings: Findings<PostgresView> = {
  "read-only": {
    severity: "error",
    level: "exclusion",
    when: "it is a PostgreSQL standby, or its transactions are read-only",
    remedy: "Use the primary, and a user whose default_transaction_read_only is off.",
    rule: (view) => {
      if (view.isStandby) return "is a standby";
      return view.settings.readOnly === "on" ? "is read-only (default_transaction_read_only on)" : null;
    },
  },
  "table-missing": {
    severity: "error",
    level: "exclusion",
    when: "the table of the locks does not exist",
    remedy: "Create it: holdfast create-table --node postgres://…",
    rule: ({ table }) => (table === null ? "has no table for locks" : null),
  },
  "table-differs": {
    severity: "error",
    level: "exclusion",
    when: "the table of the locks lacks a column",
    remedy: "Use another table, or one that this version creates: holdfast create-table --print shows the statement.",
    rule: ({ table }) =>
      table !== null && table.missingColumns.length > 0
        ? `has a table of locks without ${listed(table.missingColumns)}`
        : null,
  },
  "loses-commits": {
    severity: "warning",
    level: "exclusion",
    when: "it may lose what it has confirmed in a crash (`fsync`, `full_page_writes` or `synchronous_commit` is off)",
    remedy:
      "Set fsync, full_page_writes and synchronous_commit to on, the last one at least for the user of the locks.",
    rule: ({ settings: { fsync, fullPageWrites, synchronousCommit } }) => {
      const off = Object.entries({ fsync, full_page_writes: fullPageWrites, synchronous_commit: synchronousCommit })
        .filter(([, value]) => value === "off")
        .map(([name]) => `${name} off`);
      return off.length > 0 ? `may lose claims and counters in a crash (${off.join(", ")})` : null;
    },
  },
  "table-unlogged": {
    severity: "warning",
    level: "exclusion",
    when: "the table of the locks is unlogged: a crash empties it",
    remedy: "ALTER TABLE … SET LOGGED.",
    rule: ({ table }) => (table?.isUnlogged ? "has an unlogged table of locks" : null),
  },
  "standby-behind": {
    severity: "warning",
    level: "exclusion",
    when: "it has standbys, and a commit waits for none of them: a failover forgets the latest claims and counters",
    remedy: "Set synchronous_standby_names, and synchronous_commit to on, or never promote a standby of this server.",
    rule: ({ standbys: { count, synchronous }, settings: { synchronousCommit } }) => {
      const waits = synchronous !== 0 && !["off", "local"].includes(synchronousCommit);
      if (count === 0 || waits) return null;
      return `has ${count === 1 ? "a standby" : `${count} standbys`} that commits do not wait for`;
    },
  },
  "connections-scarce": {
    severity: "warning",
    level: null,
    when: "more than four fifths of the connections that users may open are open",
    remedy: "Raise max_connections, or let clients connect through a pooler: without a free connection, locks fail.",
    rule: ({ connections, settings: { connectionsMax } }) =>
      connections > 0.8 * connectionsMax ? `has ${connections} of ${connectionsMax} connections open` : null,
  },
  "notifications-lost": {
    severity: "warning",
    level: null,
    when: "notifications do not arrive, as behind a pooler in transaction mode",
    remedy: "Connect directly, or pass a direct connection as `listener` to postgresNode: otherwise waiters only poll.",
    rule: ({ notifies, isStandby }) =>
      notifies === false && !isStandby ? "delivers no notifications on this connection" : null,
  },
  "idle-transactions": {
    severity: "notice",
    level: null,
    when: "a transaction may stay idle forever (`idle_in_transaction_session_timeout` is 0)",
    remedy: "Set it if you use holds(): a client that stalls in its transaction keeps the lock from everyone else.",
    rule: ({ settings }) =>
      settings.idleInTransactionTimeoutMs === 0
        ? "sets no limit to idle transactions (idle_in_transaction_session_timeout 0)"
        : null,
  },
};

const commonRules: CommonRules<PostgresView> = {
  "permissions-missing": ({ table }) =>
    table !== null && table.missingPrivileges.length > 0
      ? `denies its user permissions that locks need: ${table.missingPrivileges.join(", ")}`
      : null,

  "cannot-lock": (view) => {
    const { lockFailure, table, isStandby, settings } = view;
    const isExplained = table === null || isStandby || settings.readOnly === "on" || isOld(view);
    const isTableWrong = table !== null && table.missingColumns.length + table.missingPrivileges.length > 0;
    return lockFailure === null || isExplained || isTableWrong ? null : `failed a trial lock: ${lockFailure}`;
  },

  "version-unsupported": (view) => (isOld(view) ? `runs PostgreSQL ${view.settings.version}` : null),

  hidden: ({ standbys }) =>
    standbys.count > 0 && standbys.synchronous === null
      ? "hides whether its standbys are synchronous (pg_read_all_stats) from its user"
      : null,
};

/** The part of the doctor that knows PostgreSQL. */
export const postgresSpecialist: Specialist<PostgresView> = {
  findings,
  commonRules,
  summarize: ({ identity, uptimeMs, settings: { version, fsync, synchronousCommit } }) => ({
    identity,
    version: `PostgreSQL ${version}`,
    uptimeMs,
    onDisk: fsync === "off" || synchronousCommit === "off" ? "no" : "always",
  }),
};

function isOld({ settings }: PostgresView): boolean {
  return settings.versionNumber < 130_000;
}

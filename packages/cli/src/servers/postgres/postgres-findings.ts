/** What the doctor may find about a PostgreSQL server. */
import { type Findings, notice, warning } from "../../doctor/finding-kind.ts";
import { type DatabaseView, databaseFindings } from "../database/database-findings.ts";
import type { TableFacts } from "../database/database-server.ts";

/** The observations of a PostgreSQL server. Everything that its user may not see is null. */
export interface PostgresView extends DatabaseView {
  readonly kind: "postgres";
  readonly settings: Settings;
  readonly isStandby: boolean;
  readonly standbys: Standbys;
  /** The table of the locks; null if it does not exist. */
  readonly table: PostgresTableFacts | null;
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

/** The findings about PostgreSQL. */
export const postgresFindings: Findings<PostgresView> = {
  ...databaseFindings<PostgresView>({
    "version-unsupported": ({ settings: { version, versionNumber } }) =>
      versionNumber < 130_000 ? `runs PostgreSQL ${version}` : null,
    hidden: ({ standbys }) =>
      standbys.count > 0 && standbys.synchronous === null
        ? "hides whether its standbys are synchronous (pg_read_all_stats) from its user"
        : null,
    "read-only": ({ isStandby, settings }) => {
      if (isStandby) return "is a standby";
      return settings.readOnly === "on" ? "is read-only (default_transaction_read_only on)" : null;
    },
    "loses-commits": ({ settings: { fsync, fullPageWrites, synchronousCommit } }) => {
      const off = Object.entries({ fsync, full_page_writes: fullPageWrites, synchronous_commit: synchronousCommit })
        .filter(([, value]) => value === "off")
        .map(([name]) => `${name} off`);
      return off.length > 0 ? `may lose claims and counters in a crash (${off.join(", ")})` : null;
    },
    "standby-behind": ({ standbys: { count, synchronous }, settings: { synchronousCommit } }) => {
      const waits = synchronous !== 0 && !["off", "local"].includes(synchronousCommit);
      if (count === 0 || waits) return null;
      return `has ${count === 1 ? "a standby" : `${count} standbys`} that commits do not wait for`;
    },
  }),
  "table-unlogged": {
    ...warning("exclusion"),
    when: "the table of the locks is unlogged: a crash empties it",
    remedy: "ALTER TABLE … SET LOGGED.",
    rule: ({ table }) => (table?.isUnlogged ? "has an unlogged table of locks" : null),
  },
  "notifications-lost": {
    ...warning(),
    when: "notifications do not arrive, as behind a pooler in transaction mode",
    remedy: "Connect directly, or pass a direct connection as `listener` to postgresNode: otherwise waiters only poll.",
    rule: ({ notifies, isStandby }) =>
      notifies === false && !isStandby ? "delivers no notifications on this connection" : null,
  },
  "idle-transactions": {
    ...notice(),
    when: "a transaction may stay idle forever (`idle_in_transaction_session_timeout` is 0)",
    remedy: "Set it if you use holds(): a client that stalls in its transaction keeps the lock from everyone else.",
    rule: ({ settings }) =>
      settings.idleInTransactionTimeoutMs === 0
        ? "sets no limit to idle transactions (idle_in_transaction_session_timeout 0)"
        : null,
  },
};

/** The facts about a table of PostgreSQL. */
export interface PostgresTableFacts extends TableFacts {
  /** Whether a crash empties it. */
  readonly isUnlogged: boolean;
}

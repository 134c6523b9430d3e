/** What the doctor may find about a database of any kind that has a table of locks. */
import { commonFindings } from "../../doctor/common-findings.ts";
import type { ServerView } from "../../doctor/facts.ts";
import { error, type Findings, type Rule, warning } from "../../doctor/finding-kind.ts";
import { listed } from "../../output/format.ts";
import type { TableFacts } from "./database-server.ts";

/** The observations of a database of any kind. */
export interface DatabaseView extends ServerView {
  /** The settings that concern locks. */
  readonly settings: {
    /** The number of connections that users may open. */
    readonly connectionsMax: number;
  };
  /** The number of open connections. */
  readonly connections: number;
  /** The table of the locks; null if it does not exist. */
  readonly table: TableFacts | null;
}

/** The rules of one kind of database. */
export type DatabaseRules<View extends DatabaseView> = Readonly<
  Record<"version-unsupported" | "hidden" | "read-only" | "loses-commits" | "standby-behind", Rule<View>>
>;

/**
 * Returns the findings about a kind of database.
 *
 * @param explanations the rules, apart from those here, that explain why a trial lock fails
 */
export function databaseFindings<View extends DatabaseView>(
  rules: DatabaseRules<View>,
  explanations: readonly Rule<View>[] = [],
): Findings<View> {
  const explaining = [rules["version-unsupported"], rules["read-only"], ...explanations];
  return {
    ...commonFindings<View>({
      "version-unsupported": rules["version-unsupported"],
      hidden: rules.hidden,
      "permissions-missing": ({ table }) =>
        table !== null && table.missingPrivileges.length > 0
          ? `denies its user permissions that locks need: ${table.missingPrivileges.join(", ")}`
          : null,
      "cannot-lock": (view, ...context) => {
        const { lockFailure, table } = view;
        const isTableWrong = table === null || table.missingColumns.length + table.missingPrivileges.length > 0;
        const isExplained = isTableWrong || explaining.some((rule) => rule(view, ...context) !== null);
        return lockFailure === null || isExplained ? null : `failed a trial lock: ${lockFailure}`;
      },
    }),
    "read-only": {
      ...error("exclusion"),
      when: "it is a standby or a replica, or its transactions are read-only",
      remedy: "Use the primary, and a user whose transactions may write.",
      rule: rules["read-only"],
    },
    "table-missing": {
      ...error("exclusion"),
      when: "the table of the locks does not exist, or a user of MySQL has no privilege on it",
      remedy: "Create it: holdfast create-table --node … prints the statement.",
      rule: ({ table }) => (table === null ? "has no table for locks" : null),
    },
    "table-differs": {
      ...error("exclusion"),
      when: "the table of the locks lacks a column",
      remedy: "Use another table, or one that this version creates: holdfast create-table prints the statement.",
      rule: ({ table }) =>
        table !== null && table.missingColumns.length > 0
          ? `has a table of locks without ${listed(table.missingColumns)}`
          : null,
    },
    "loses-commits": {
      ...warning("exclusion"),
      when:
        "it may lose what it has confirmed in a crash (in PostgreSQL, `fsync`, `full_page_writes` or `synchronous_commit` " +
        "is off; in MySQL, `innodb_flush_log_at_trx_commit` or, with a binary log, `sync_binlog` is not 1)",
      remedy:
        "Set fsync, full_page_writes and synchronous_commit to on, the last one at least for the user of the locks; in " +
        "MySQL and MariaDB, innodb_flush_log_at_trx_commit and sync_binlog to 1.",
      rule: rules["loses-commits"],
    },
    "standby-behind": {
      ...warning("exclusion"),
      when: "it has standbys or replicas, and a commit waits for none of them: a failover forgets the latest claims and counters",
      remedy:
        "Never promote one of them; or set synchronous_standby_names, and synchronous_commit to on, in PostgreSQL, and " +
        "use a cluster of Galera or group replication in MySQL and MariaDB.",
      rule: rules["standby-behind"],
    },
    "connections-scarce": {
      ...warning(),
      when: "more than four fifths of the connections that users may open are open",
      remedy: "Raise max_connections, or let clients connect through a pooler: without a free connection, locks fail.",
      rule: ({ connections, settings: { connectionsMax } }) =>
        connections > 0.8 * connectionsMax ? `has ${connections} of ${connectionsMax} connections open` : null,
    },
  };
}

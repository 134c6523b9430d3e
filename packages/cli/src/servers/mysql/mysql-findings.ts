/** What the doctor may find about a MySQL or MariaDB server. */
import { error, type Findings } from "../../doctor/finding-kind.ts";
import { type DatabaseView, databaseFindings } from "../database/database-findings.ts";

/** The observations of a MySQL or MariaDB server. Everything that its user may not see is null. */
export interface MysqlView extends DatabaseView {
  readonly kind: "mysql";
  readonly settings: MysqlSettings;
  /** The number of connected replicas; null if the user may not see it. */
  readonly replicas: number | null;
}

/** The settings of a server that concern locks, in its own words. */
export interface MysqlSettings {
  /** The version, such as `8.4.3` or `10.11.6-MariaDB`. */
  readonly version: string;
  readonly readOnly: string;
  readonly transactionReadOnly: string;
  readonly autocommit: string;
  /** See `innodb_flush_log_at_trx_commit`. */
  readonly flushLogAtCommit: string;
  readonly binaryLog: string;
  readonly syncBinaryLog: string;
  /** The number of connections that users may open. */
  readonly connectionsMax: number;
}

const autocommitOff = {
  ...error("exclusion"),
  when: "autocommit is off in the sessions of a user of MySQL or MariaDB: no claim would be committed",
  remedy: "Set autocommit to ON on the server, also where init_connect changes it.",
  rule: ({ settings }: MysqlView) => (settings.autocommit === "ON" ? null : "starts sessions without autocommit"),
} as const;

/** The findings about MySQL and MariaDB. */
export const mysqlFindings: Findings<MysqlView> = {
  ...databaseFindings<MysqlView>(
    {
      "version-unsupported": ({ settings }) => {
        const { text, isOld } = versionOf(settings);
        return isOld ? `runs ${text}` : null;
      },
      hidden: ({ replicas }) => (replicas === null ? "hides whether it has replicas (PROCESS) from its user" : null),
      "read-only": ({ settings }) => {
        if (settings.readOnly !== "OFF") return `is read-only (read_only ${settings.readOnly}), as a replica is`;
        return settings.transactionReadOnly === "ON" ? "is read-only (transaction_read_only ON)" : null;
      },
      "loses-commits": ({ settings }) => {
        const losing = Object.entries(syncing(settings)).filter(([, value]) => value !== "1");
        if (losing.length === 0) return null;
        return `may lose claims and counters in a crash (${losing.map((each) => each.join(" ")).join(", ")})`;
      },
      "standby-behind": ({ replicas }) => {
        if (replicas === null || replicas === 0) return null;
        return `has ${replicas === 1 ? "a replica" : `${replicas} replicas`} that commits do not wait for`;
      },
    },
    [autocommitOff.rule],
  ),
  "autocommit-off": autocommitOff,
};

/** The values with which each commit is flushed: MariaDB has an older way, too. */
export const onEachCommit: readonly string[] = ["1", "3"];

/** Returns the settings that decide whether a commit waits for the disk. */
function syncing({ flushLogAtCommit, binaryLog, syncBinaryLog }: MysqlSettings): Readonly<Record<string, string>> {
  return {
    innodb_flush_log_at_trx_commit: onEachCommit.includes(flushLogAtCommit) ? "1" : flushLogAtCommit,
    ...(binaryLog === "ON" && { sync_binlog: syncBinaryLog }),
  };
}

/** Returns the product with its version, and whether it is not supported. */
export function versionOf({ version }: Pick<MysqlSettings, "version">): {
  readonly text: string;
  readonly isOld: boolean;
} {
  const [number = ""] = /^[\d.]+/.exec(version) ?? [];
  const [major = 0, minor = 0, patch = 0] = number.split(".").map(Number);
  const isMariaDb = version.includes("MariaDB");
  const oldest = isMariaDb ? 10_06_00 : 8_00_16;
  return {
    text: `${isMariaDb ? "MariaDB" : "MySQL"} ${number}`,
    isOld: major * 10_000 + minor * 100 + patch < oldest,
  };
}

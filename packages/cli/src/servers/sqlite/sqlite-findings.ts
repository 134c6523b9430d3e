/** What the doctor may find about a SQLite file. */
import { commonFindings } from "../../doctor/common-findings.ts";
import type { ServerView } from "../../doctor/facts.ts";
import { error, type Findings, notice, warning } from "../../doctor/finding-kind.ts";

/** The observations of a SQLite file. */
export interface SqliteView extends ServerView {
  readonly kind: "sqlite";
  /** The permissions, as the number for `chmod`. */
  readonly mode: number;
  readonly fileSystem: FileSystem;
}

/** The file system that a file is on. */
export interface FileSystem {
  /** The name; null if the doctor does not know it. */
  readonly name: string | null;
  /** Whether other machines may use it, too. */
  readonly isRemote: boolean;
  /** Whether it is lost when the machine restarts. */
  readonly isInMemory: boolean;
  /** The space that is left for this user. */
  readonly freeBytes: number;
}

/** The write-ahead log grows to 4 MB before SQLite reuses it. */
const freeBytesMin = 16e6;

/** The findings about SQLite files. */
export const sqliteFindings: Findings<SqliteView> = {
  ...commonFindings<SqliteView>({
    "cannot-lock": ({ lockFailure }) => lockFailure && `failed a trial lock: ${lockFailure}`,
  }),
  "network-file-system": {
    ...error("exclusion"),
    when: "it is on a network file system",
    remedy:
      "Use a local disk: over a network, SQLite cannot keep other processes out, and a lock may be granted twice.",
    rule: ({ fileSystem: { isRemote, name } }) => (isRemote ? `is on a network file system (${name})` : null),
  },
  "memory-file-system": {
    ...warning("fenced"),
    when: "it is on a file system in memory, which is empty after a restart of the machine",
    remedy: "Use a file on a disk: without its counters, tokens depend on the clock.",
    rule: ({ fileSystem: { isInMemory, name } }) => (isInMemory ? `is in memory only (${name})` : null),
  },
  "disk-nearly-full": {
    ...warning(),
    when: "less than 16 MB are left on its disk",
    remedy: "Make room: no lock is granted on a full disk.",
    rule: ({ fileSystem: { freeBytes } }) =>
      freeBytes < freeBytesMin ? `has ${(freeBytes / 1e6).toFixed(1)} MB left on its disk` : null,
  },
  "file-unprotected": {
    ...notice(),
    when: "every user of the machine may write to it",
    remedy: "Remove the permission with chmod o-w: any program can release locks and write counters.",
    rule: ({ mode }) => ((mode & 0o002) !== 0 ? `may be written to by every user (mode ${mode.toString(8)})` : null),
  },
};

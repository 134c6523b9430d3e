/** What the doctor may find about a SQLite file. */
import type { ServerView } from "../../doctor/facts.ts";
import type { CommonRules, Findings, Specialist } from "../../doctor/finding-kind.ts";

/** The observations of a SQLite file. */
export interface SqliteView extends ServerView {
  readonly kind: "sqlite";
  /** A value that no other file of this machine has. */
  readonly identity: string;
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

const findings: Findings<SqliteView> = {
  "network-file-system": {
    severity: "error",
    level: "exclusion",
    when: "it is on a network file system",
    remedy:
      "Use a local disk: over a network, SQLite cannot keep other processes out, and a lock may be granted twice.",
    rule: ({ fileSystem: { isRemote, name } }) => (isRemote ? `is on a network file system (${name})` : null),
  },
  "memory-file-system": {
    severity: "warning",
    level: "fenced",
    when: "it is on a file system in memory, which is empty after a restart of the machine",
    remedy: "Use a file on a disk: without its counters, tokens depend on the clock.",
    rule: ({ fileSystem: { isInMemory, name } }) => (isInMemory ? `is in memory only (${name})` : null),
  },
  "disk-nearly-full": {
    severity: "warning",
    level: null,
    when: "less than 16 MB are left on its disk",
    remedy: "Make room: no lock is granted on a full disk.",
    rule: ({ fileSystem: { freeBytes } }) =>
      freeBytes < freeBytesMin ? `has ${(freeBytes / 1e6).toFixed(1)} MB left on its disk` : null,
  },
  "file-unprotected": {
    severity: "notice",
    level: null,
    when: "every user of the machine may write to it",
    remedy: "Remove the permission with chmod o-w: any program can release locks and write counters.",
    rule: ({ mode }) => ((mode & 0o002) !== 0 ? `may be written to by every user (mode ${mode.toString(8)})` : null),
  },
};

const commonRules: CommonRules<SqliteView> = {
  "cannot-lock": ({ lockFailure }) => lockFailure && `failed a trial lock: ${lockFailure}`,
};

/** The part of the doctor that knows SQLite. */
export const sqliteSpecialist: Specialist<SqliteView> = {
  findings,
  commonRules,
  summarize: ({ identity, fileSystem: { isInMemory } }) => ({
    identity,
    version: "SQLite",
    uptimeMs: null,
    onDisk: isInMemory ? "no" : "always",
  }),
};

import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Diagnosis, judge } from "../../src/doctor/judge.ts";
import type { FileSystem, SqliteView } from "../../src/servers/sqlite/sqlite-findings.ts";
import { packageFolder } from "../support/program.ts";
import { examineServers } from "./lab.ts";
import type { Situation } from "./situation.ts";

/** Returns the path of a new file that is removed at the end of the test, on a disk even if temporary files are not. */
async function newFile(): Promise<string> {
  const reports = join(packageFolder, "reports");
  await mkdir(reports, { recursive: true });
  const folder = await mkdtemp(join(reports, "locks-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "locks.db");
}

/** Examines a new file, and judges it as if it were on another file system. */
async function examineOn(changes: Partial<FileSystem>): Promise<Diagnosis> {
  const report = await examineServers([`sqlite:${await newFile()}`]);
  const servers = report.servers.map((server) => {
    const view = server.view as SqliteView;
    return { ...server, view: { ...view, fileSystem: { ...view.fileSystem, ...changes } } };
  });
  return judge({ ...report, servers });
}

/** A situation for each finding about SQLite. */
export const sqliteSituations: readonly Situation[] = [
  {
    code: "unreachable",
    how: "a SQLite file in a folder that does not exist",
    also: ["no-quorum", "single-server"],
    examine: async () => examineServers([`sqlite:${await newFile()}/none/locks.db`]),
  },
  {
    code: "network-file-system",
    how: "the facts about a file, changed to NFS",
    examine: () => examineOn({ name: "nfs", isRemote: true }),
  },
  {
    code: "memory-file-system",
    how: "a file in /dev/shm",
    examine: async () => {
      const path = `/dev/shm/holdfast-${process.pid}.db`;
      onTestFinished(async () => {
        for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix, { force: true });
      });
      return examineServers([`sqlite:${path}`]);
    },
  },
  {
    code: "disk-nearly-full",
    how: "the facts about a file, changed to 8 MB",
    examine: () => examineOn({ freeBytes: 8e6 }),
  },
  {
    code: "file-unprotected",
    how: "a file after chmod 666",
    examine: async () => {
      const path = await newFile();
      await examineServers([`sqlite:${path}`]);
      await chmod(path, 0o666);
      return examineServers([`sqlite:${path}`]);
    },
  },
];

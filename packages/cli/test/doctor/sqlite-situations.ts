import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { judge, type Report } from "../../src/doctor/judge.ts";
import type { FileSystem, SqliteView } from "../../src/servers/sqlite/sqlite-findings.ts";
import { withNode } from "../support/files.ts";
import { packageFolder } from "../support/program.ts";
import { one, type Situation } from "./situation.ts";

/** Returns the path of a new file that is removed at the end of the test, on a disk even if temporary files are not. */
async function newFile(): Promise<string> {
  const reports = join(packageFolder, "reports");
  await mkdir(reports, { recursive: true });
  const folder = await mkdtemp(join(reports, "locks-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "locks.db");
}

/** Returns a situation of a new file, which is judged as if it were on another file system. */
function fileOn(code: string, how: string, changes: Partial<FileSystem>): Situation {
  const situation = one(code, how, async () => `sqlite:${await newFile()}`);
  return {
    ...situation,
    async examine() {
      const report = (await situation.examine()) as Report;
      const servers = report.servers.map((server) => {
        const view = server.view as SqliteView;
        return { ...server, view: { ...view, fileSystem: { ...view.fileSystem, ...changes } } };
      });
      return judge({ ...report, servers });
    },
  };
}

/** A situation for each finding about SQLite. */
export const sqliteSituations: readonly Situation[] = [
  one(
    "unreachable",
    "a SQLite file in a folder that does not exist",
    async () => `sqlite:${await newFile()}/none/locks.db`,
    ["no-quorum"],
  ),
  fileOn("network-file-system", "the facts about a file, changed to NFS", { name: "nfs", isRemote: true }),
  one("memory-file-system", "a file in /dev/shm", async () => {
    const path = `/dev/shm/holdfast-${process.pid}.db`;
    onTestFinished(async () => {
      for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix, { force: true });
    });
    return `sqlite:${path}`;
  }),
  fileOn("disk-nearly-full", "the facts about a file, changed to 8 MB", { freeBytes: 8e6 }),
  one("file-unprotected", "a file after chmod 666", async () => {
    const path = await newFile();
    await withNode(path, async () => {});
    await chmod(path, 0o666);
    return `sqlite:${path}`;
  }),
];

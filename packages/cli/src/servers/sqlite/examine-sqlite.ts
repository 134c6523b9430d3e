import { stat, statfs } from "node:fs/promises";
import type { LockNode } from "@holdfast/core";
import { trialResource, tryLock } from "../../doctor/try-lock.ts";
import { within } from "../../within.ts";
import type { ExamineOptions } from "../server.ts";
import type { FileSystem, SqliteView } from "./sqlite-findings.ts";

/** File systems by the number that Linux gives them. Those of other systems are not recognized. */
const fileSystems: Readonly<Record<number, Pick<FileSystem, "name" | "isRemote" | "isInMemory">>> = {
  ...remote({ nfs: 0x6969, smb: 0x517b, cifs: 0xff534d42, smb2: 0xfe534d42, "9p": 0x01021997, afs: 0x5346414f }),
  ...remote({ ceph: 0x00c36400, lustre: 0x0bd00bd0, coda: 0x73757245, gpfs: 0x47504653 }),
  16914836: { name: "tmpfs", isRemote: false, isInMemory: true },
  2240043254: { name: "ramfs", isRemote: false, isInMemory: true },
};

/** Makes the observations that the doctor judges. See `Server.examine`. */
export async function examineSqlite(node: LockNode, path: string, options: ExamineOptions): Promise<SqliteView> {
  const { mode, dev, ino } = await within(options.answerTimeoutMs, stat(path));
  const { type, bavail, bsize } = await within(options.answerTimeoutMs, statfs(path));
  const { lockFailure, latency } = await tryLock(node, trialResource, options);
  const known = process.platform === "linux" ? fileSystems[type >>> 0] : undefined;
  return {
    kind: "sqlite",
    latency,
    clock: { aheadMs: 0, uncertaintyMs: 0 }, // it is the clock of this machine
    identity: `${dev} ${ino}`,
    mode: mode & 0o777,
    fileSystem: { ...(known ?? { name: null, isRemote: false, isInMemory: false }), freeBytes: bavail * bsize },
    lockFailure,
  };
}

function remote(types: Readonly<Record<string, number>>): typeof fileSystems {
  return Object.fromEntries(
    Object.entries(types).map(([name, type]) => [type, { name, isRemote: true, isInMemory: false }]),
  );
}

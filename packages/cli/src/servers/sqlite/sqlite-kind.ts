import { stat, statfs } from "node:fs/promises";
import type { LockNode } from "@holdfast/core";
import type { SqliteNode } from "@holdfast/sqlite";
import { trialResource, tryLock } from "../../doctor/try-lock.ts";
import { UsageError } from "../../exit-codes.ts";
import { within } from "../../within.ts";
import { BadAddress, type ExamineOptions, listingServer, loadDriver, type Server, type ServerKind } from "../server.ts";
import type { FileSystem, SqliteView } from "./sqlite-findings.ts";

/** A SQLite file. */
export interface SqliteAddress {
  readonly path: string;
}

const scheme = /^sqlite:/i;
const packages = ["@holdfast/sqlite", "libsql"];

/** SQLite files, for the processes of this machine. */
export const sqliteKind: ServerKind<SqliteAddress> = {
  forms: "sqlite:PATH",
  scheme,
  parse(text) {
    const path = text.replace(scheme, "").replace(/^\/\/(?=\/)/, "");
    if (path === "" || path === ":memory:") throw new BadAddress("names no file");
    if (path.startsWith("//")) throw new BadAddress("has a host");
    if (/[?#]/.test(path)) throw new BadAddress("has unknown parameters");
    return { path };
  },
  async open({ path }) {
    const { sqliteNode } = await loadDriver("sqlite: nodes", packages, () => import("@holdfast/sqlite"));
    try {
      return serverOf(await sqliteNode(path));
    } catch (error) {
      const { message } = error as Error;
      if (message.includes("driver can be loaded")) throw new UsageError(`sqlite: nodes: ${message}`);
      return serverOf(failingNode(path, error as Error), error as Error);
    }
  },
};

/** @param problem why the file cannot be opened; undefined if it is open */
function serverOf(node: SqliteNode, problem?: Error): Server {
  return listingServer({
    node,
    connect: () => (problem === undefined ? Promise.resolve() : Promise.reject(problem)),
    misaddresses: () => true,
    address: () => ({ machine: "local", isTls: false, database: null }),
    examine: (options) => examineSqlite(node, node.name, options),
    async close() {
      node.close();
    },
  });
}

/** Returns a node for a file that cannot be opened. */
function failingNode(name: string, problem: Error): SqliteNode {
  const fail = (): Promise<never> => Promise.reject(problem);
  const list = (): never => {
    throw problem;
  };
  const methods = { acquire: fail, extend: fail, release: fail, inspect: fail, list, close() {} };
  return { name, ...methods } as Partial<SqliteNode> as SqliteNode;
}

/** File systems by the number that Linux gives them. Those of other systems are not recognized. */
const fileSystems: Readonly<Record<number, Pick<FileSystem, "name" | "isRemote" | "isInMemory">>> = {
  ...remote({ nfs: 0x6969, smb: 0x517b, cifs: 0xff534d42, smb2: 0xfe534d42, "9p": 0x01021997, afs: 0x5346414f }),
  ...remote({ ceph: 0x00c36400, lustre: 0x0bd00bd0, coda: 0x73757245, gpfs: 0x47504653 }),
  16914836: { name: "tmpfs", isRemote: false, isInMemory: true },
  2240043254: { name: "ramfs", isRemote: false, isInMemory: true },
};

const ordinary = { name: null, isRemote: false, isInMemory: false };

/** Makes the observations that the doctor judges. See `Server.examine`. */
async function examineSqlite(node: LockNode, path: string, options: ExamineOptions): Promise<SqliteView> {
  const { mode, dev, ino } = await within(options.answerTimeoutMs, stat(path));
  const { type, bavail, bsize } = await within(options.answerTimeoutMs, statfs(path));
  const { lockFailure, latency } = await tryLock(node, trialResource, options);
  const known = (process.platform === "linux" && fileSystems[type >>> 0]) || ordinary;
  return {
    kind: "sqlite",
    latency,
    clock: { aheadMs: 0, uncertaintyMs: 0 }, // it is the clock of this machine
    mode: mode & 0o777,
    fileSystem: { ...known, freeBytes: bavail * bsize },
    lockFailure,
    summary: {
      ...{ identity: `${dev} ${ino}`, version: "SQLite", uptimeMs: null },
      onDisk: known.isInMemory ? "no" : "always",
    },
  };
}

function remote(types: Readonly<Record<string, number>>): typeof fileSystems {
  return Object.fromEntries(
    Object.entries(types).map(([name, type]) => [type, { name, isRemote: true, isInMemory: false }]),
  );
}

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { arch, cpus, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findMysql } from "@holdfast/testkit/find-mysql";
import { findPostgres } from "@holdfast/testkit/find-postgres";

/** The environment that the figures depend on. */
export interface Machine {
  readonly date: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly redisServer: string;
  /** The versions of the libraries, and of other servers. */
  readonly versions: Readonly<Record<string, string>>;
}

const redisLibraries = ["ioredis", "@redis/client", "redlock4", "redlock5", "@sesamecare-oss/redlock"];

/** The names of the libraries of each subject. */
const libraries = {
  libraries: [...redisLibraries, "redis-semaphore", "redlock-universal"],
  stores: ["ioredis", "pg", "mysql2", "@grpc/grpc-js", "libsql", "proper-lockfile"],
};

/** Reads the properties of this machine, and the versions of what a run compares. */
export async function inspectMachine(subject: keyof typeof libraries): Promise<Machine> {
  const servers = subject === "stores" ? await storeVersions() : [];
  const versions = [...servers, ...(await Promise.all(libraries[subject].map(versionOf)))];
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model.trim() || "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    redisServer: await redisServerVersion(),
    versions: Object.fromEntries(versions),
  };
}

async function versionOf(library: string): Promise<[name: string, version: string]> {
  // Not every library exports its manifest.
  const manifest = new URL(`../node_modules/${library}/package.json`, import.meta.url);
  const { name, version } = JSON.parse(await readFile(manifest, "utf8"));
  return [library === name ? name : `${name} (${library})`, version];
}

async function redisServerVersion(): Promise<string> {
  return programVersion(process.env.HOLDFAST_REDIS_SERVER ?? "redis-server", /v=(\S+)/);
}

async function storeVersions(): Promise<[name: string, version: string][]> {
  const postgres = join((await findPostgres()) ?? "", "postgres");
  return [
    ["PostgreSQL", await programVersion(postgres, /\) (\S+)/)],
    ["MariaDB", await programVersion((await findMysql())?.program ?? "mariadbd", /Ver ([\d.]+)/)],
    ["etcd", await programVersion("etcd", /Version: (\S+)/)],
  ];
}

async function programVersion(program: string, pattern: RegExp): Promise<string> {
  const { stdout } = await promisify(execFile)(program, ["--version"]);
  return pattern.exec(stdout)?.[1] ?? stdout.trim();
}

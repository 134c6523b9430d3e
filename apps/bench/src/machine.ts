import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { arch, cpus, platform, release, totalmem } from "node:os";
import { promisify } from "node:util";

/** The environment that the figures depend on. */
export interface Machine {
  readonly date: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly redisServer: string;
  /** The versions of the libraries. */
  readonly versions: Readonly<Record<string, string>>;
}

const libraries = [
  "ioredis",
  "@redis/client",
  "redlock4",
  "redlock5",
  "@sesamecare-oss/redlock",
  "redis-semaphore",
  "redlock-universal",
];

/** Reads the properties of this machine. */
export async function inspectMachine(): Promise<Machine> {
  const versions = await Promise.all(libraries.map(versionOf));
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
  const { stdout } = await promisify(execFile)(process.env.HOLDFAST_REDIS_SERVER ?? "redis-server", ["--version"]);
  return /v=(\S+)/.exec(stdout)?.[1] ?? stdout.trim();
}

import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../lib/run.ts";
import { root } from "../lib/workspace.ts";

/** A server that Debian packages. */
export interface PackagedServer {
  /** Names the server on the command line. The table shows the name and version that the program reports. */
  readonly name: string;
  readonly kind: keyof typeof kinds;
  readonly package: string;
  /** The path of the program in the package. */
  readonly program: string;
  /** The suites of Debian to install from. The first has the package; its libraries are in any of them. */
  readonly suites: readonly [string, ...string[]];
}

/** The environment variable by which tests find a server, and where its tests are. */
export const kinds = {
  redis: {
    variable: "HOLDFAST_REDIS_SERVER",
    tests: ["packages/ioredis/", "packages/node-redis/", "packages/redis/", "packages/valkey-glide/"],
  },
  mysql: { variable: "HOLDFAST_MYSQLD", tests: ["packages/mysql/"] },
} as const;

const redis = { kind: "redis", package: "redis-server", program: "usr/bin/redis-server" } as const;
const valkey = { kind: "redis", package: "valkey-server", program: "usr/bin/valkey-server" } as const;
const mariadb = { kind: "mysql", package: "mariadb-server-core", program: "usr/sbin/mariadbd" } as const;
const mysql = { kind: "mysql", package: "mysql-server-core", program: "usr/sbin/mysqld" } as const;

/** The servers, from the oldest supported to the newest packaged. */
export const packagedServers: readonly PackagedServer[] = [
  { name: "redis-6.0", ...redis, suites: ["bullseye"] },
  { name: "redis-7.0", ...redis, suites: ["bookworm"] },
  { name: "redis-8.0", ...redis, suites: ["trixie"] },
  { name: "redis-8.6", ...redis, suites: ["experimental", "sid"] },
  { name: "valkey-8.1", ...valkey, suites: ["trixie"] },
  { name: "valkey-9.1", ...valkey, suites: ["forky"] },
  { name: "mariadb-10.11", ...mariadb, suites: ["bookworm"] },
  { name: "mariadb-11.8", ...mariadb, suites: ["trixie"] },
  { name: "mysql-9.7", ...mysql, suites: ["sid"] },
];

const cache = join(root, "node_modules/.cache/servers");

/**
 * Downloads a server and the libraries that it needs, unless the cache has them, and returns the path of a program that
 * runs it. Nothing is installed: the files are unpacked into the cache, and run with their own loader and libraries.
 */
export async function fetchServer(server: PackagedServer): Promise<string> {
  const home = join(cache, server.name);
  const program = join(home, server.package);
  if (existsSync(program)) return program;
  const apt = join(home, "apt");
  await rm(home, { recursive: true, force: true });
  for (const folder of ["lists/partial", "archives/partial"]) await mkdir(join(apt, folder), { recursive: true });
  const config = await configureApt(apt, server.suites);
  await run("apt-get", ["-c", config, "update"], apt);
  const wanted = `${server.package}/${server.suites[0]}`;
  await run("apt-get", ["-c", config, "install", "--yes", "--download-only", "--no-install-recommends", wanted], apt);
  const files = join(home, "files");
  const archives = (await readdir(join(apt, "archives"))).filter((name) => name.endsWith(".deb"));
  for (const archive of archives) await run("dpkg-deb", ["-x", join(apt, "archives", archive), files], home);
  await rm(apt, { recursive: true });
  // Renamed last, so that an interrupted run leaves no incomplete program.
  await writeFile(`${program}.new`, await launcher(files, server));
  await chmod(`${program}.new`, 0o755);
  await rename(`${program}.new`, program);
  return program;
}

/** Makes apt keep everything in one folder and assume that nothing is installed, so that it downloads all libraries. */
async function configureApt(apt: string, suites: readonly string[]): Promise<string> {
  const mirror = await mirrorOfThisMachine();
  const config = join(apt, "apt.conf");
  await writeFile(join(apt, "sources.list"), suites.map((suite) => `deb ${mirror} ${suite} main\n`).join(""));
  await writeFile(join(apt, "status"), "");
  const settings = {
    "Dir::State": apt,
    "Dir::State::status": join(apt, "status"),
    "Dir::Cache": apt,
    "Dir::Etc::SourceList": join(apt, "sources.list"),
    "Dir::Etc::SourceParts": "/dev/null",
    "Dir::Etc::PreferencesParts": "/dev/null",
    "APT::Sandbox::User": "",
    "Acquire::Languages": "none",
    "Debug::NoLocking": "true",
  };
  await writeFile(
    config,
    Object.entries(settings)
      .map(([name, value]) => `${name} "${value}";\n`)
      .join(""),
  );
  return config;
}

async function mirrorOfThisMachine(): Promise<string> {
  const query = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"];
  const [mirror] = (await run("apt-get", query, root).catch(() => "")).split("\n");
  if (!mirror) throw new Error("the servers come from packages of Debian: run this on Debian, with apt");
  return mirror;
}

async function launcher(files: string, { kind, program }: PackagedServer): Promise<string> {
  const paths = await readdir(files, { recursive: true });
  const libraries = paths.filter((path) => /^(usr\/)?lib\/[^/]+-linux-gnu[^/]*(\/systemd)?$/.test(path));
  const loader = paths.find((path) => /-linux-gnu[^/]*\/ld-linux[^/]*\.so\.\d+$/.test(path));
  if (loader === undefined) throw new Error(`the packages in ${files} contain no loader`);
  const libraryPath = libraries.map((path) => join(files, path)).join(":");
  const home = kind === "mysql" ? ` --basedir=${files}/usr` : ""; // which has the texts of errors
  return `#!/bin/sh\nexec ${files}/${loader} --library-path ${libraryPath} ${files}/${program} "$@"${home}\n`;
}

import { fileURLToPath } from "node:url";
import { findChromium } from "@holdfast/testkit/find-chromium";
import { findMysql } from "@holdfast/testkit/find-mysql";
import { findPostgres } from "@holdfast/testkit/find-postgres";
import { exec } from "tinyexec";
import { findFaketime } from "../../apps/chaos/src/world/find-faketime.ts";
import { run } from "./run.ts";
import { scripts } from "./workspace.ts";

/** A program that is needed beside Node, and how to install it. */
interface Program {
  readonly name: string;
  isThere(): Promise<unknown>;
  /** The packages of Debian that contain it. */
  readonly packages: readonly string[];
  /** Why it is needed, for systems on which it is not installed automatically. */
  readonly why: string;
  /** The package of Homebrew, if there is one. */
  readonly brew?: string;
  /** How to install it elsewhere. Default: the package of the system that brings it. */
  readonly elsewhere?: string;
}

const installer = fileURLToPath(new URL("./install-packages.sh", import.meta.url));

export const redisServer: Program = {
  name: "redis-server",
  isThere: () => succeeds("redis-server", "--version"),
  packages: ["redis-server"],
  why: "The tests start Redis servers, and redis-server (7 or newer) is not on the PATH. Please install it:",
  brew: "redis",
};

export const etcd: Program = {
  name: "etcd",
  isThere: () => succeeds("etcd", "--version"),
  packages: ["etcd-server"],
  why: "The tests start etcd servers, and etcd (3.4 or newer) is not on the PATH. Please install it:",
  brew: "etcd",
};

export const postgres: Program = {
  name: "PostgreSQL",
  isThere: findPostgres,
  packages: ["postgresql"],
  why: "The tests start a PostgreSQL server, and none is installed. Please install one:",
  brew: "postgresql",
  elsewhere: "the package of your system that brings initdb and postgres, with both on the PATH",
};

export const mysql: Program = {
  name: "MariaDB",
  isThere: findMysql,
  packages: ["mariadb-server"],
  why: "The tests start a MariaDB server, and none is installed. Please install one:",
  brew: "mariadb",
  elsewhere: "the package of your system that brings mariadbd and mariadb-install-db, with both on the PATH",
};

export const pgBouncer: Program = {
  name: "PgBouncer",
  isThere: () => succeeds("pgbouncer", "--version"),
  packages: ["pgbouncer"],
  why: "The tests start a PgBouncer, and pgbouncer is not on the PATH. Please install it:",
  brew: "pgbouncer",
};

export const chromium: Program = {
  name: "Chromium",
  isThere: findChromium,
  packages: ["chromium-headless-shell"],
  why: "The tests of the site need Chromium, and neither chromium nor google-chrome is on the PATH. Please install one:",
  brew: "google-chrome",
};

export const promtool: Program = {
  name: "promtool",
  isThere: () => succeeds("promtool", "--version"),
  packages: ["prometheus"],
  why: "The tests evaluate alert rules by Prometheus's promtool, which is not on the PATH. Please install it:",
  brew: "prometheus",
};

export const spin: Program = {
  name: "spin",
  isThere: async () => (await succeeds("spin", "-V")) && succeeds("gcc", "--version"),
  packages: ["spin", "gcc", "libc6-dev"],
  why: "The model checker spin (6.5 or newer), or gcc, which it needs, is not on the PATH. Please install both:",
  brew: "spin",
  elsewhere: "https://spinroot.com",
};

export const faketime: Program = {
  name: "libfaketime",
  isThere: findFaketime,
  packages: ["libfaketime"],
  why: "Setting the clocks of running servers needs libfaketime. Please install it:",
  elsewhere: "set HOLDFAST_FAKETIME to the path of libfaketimeMT.so.1, or choose other nemeses by --nemesis",
};

export const luacheck: Program = {
  name: "luacheck",
  isThere: () => succeeds("luacheck", "--version"),
  packages: ["lua-check"],
  why: "The Lua files are checked by luacheck, which is not on the PATH. Please install it:",
  brew: "luacheck",
  elsewhere: "luarocks install luacheck",
};

/** Installs the missing ones of these programs, or ends this process with advice. */
export async function ensureOrExit(...programs: readonly Program[]): Promise<void> {
  for (const program of programs) {
    await ensure(program).catch((error: Error) => {
      console.error(error.message);
      process.exit(2);
    });
  }
}

/** Installs a missing program, where that needs no confirmation. Otherwise rejects with advice. */
export async function ensure(program: Program): Promise<void> {
  const { name, isThere, packages, why, brew } = program;
  if (await isThere()) return;
  const command = await installCommand();
  if (command) {
    console.log(`${name} is missing: installing ${packages.join(", ")} with apt-get …`);
    await run(command[0], [...command.slice(1), ...packages], scripts);
    if (await isThere()) return;
  }
  const { elsewhere = `the package of your system that brings ${name.toLowerCase()}` } = program;
  const ways = [
    `  with apt-get    sudo apt-get install ${packages.join(" ")}`,
    ...(brew ? [`  macOS           brew install ${brew}`] : []),
    `  other systems   ${elsewhere}`,
  ];
  throw new Error([why, ...ways].join("\n"));
}

/** How to install without a password prompt, if there is a way. */
async function installCommand(): Promise<[string, ...string[]] | undefined> {
  if (!(await succeeds("apt-get", "--version"))) return undefined;
  if (process.getuid?.() === 0) return ["sh", installer];
  if (await succeeds("sudo", "-n", "true")) return ["sudo", "-n", "sh", installer];
  return undefined;
}

async function succeeds(command: string, ...args: string[]): Promise<boolean> {
  try {
    return (await exec(command, args)).exitCode === 0;
  } catch {
    return false; // there is no such command
  }
}

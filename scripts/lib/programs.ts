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
  isThere(): Promise<boolean>;
  /** The packages of Debian that contain it. */
  readonly packages: readonly string[];
  /** Why it is needed, and how to install it without apt-get, for systems on which it is not installed automatically. */
  readonly advice: readonly [why: string, ...how: string[]];
}

const installer = fileURLToPath(new URL("./install-packages.sh", import.meta.url));

export const redisServer: Program = {
  name: "redis-server",
  isThere: () => succeeds("redis-server", "--version"),
  packages: ["redis-server"],
  advice: [
    "The tests start Redis servers, and redis-server (7 or newer) is not on the PATH. Please install it:",
    "  macOS           brew install redis",
    "  other systems   the package of your system that brings redis-server",
  ],
};

export const etcd: Program = {
  name: "etcd",
  isThere: () => succeeds("etcd", "--version"),
  packages: ["etcd-server"],
  advice: [
    "The tests start etcd servers, and etcd (3.4 or newer) is not on the PATH. Please install it:",
    "  macOS           brew install etcd",
    "  other systems   the package of your system that brings etcd",
  ],
};

export const postgres: Program = {
  name: "PostgreSQL",
  isThere: async () => (await findPostgres()) !== undefined,
  packages: ["postgresql"],
  advice: [
    "The tests start a PostgreSQL server, and none is installed. Please install one:",
    "  macOS           brew install postgresql",
    "  other systems   the package of your system that brings initdb and postgres, with both on the PATH",
  ],
};

export const mysql: Program = {
  name: "MariaDB",
  isThere: async () => (await findMysql()) !== undefined,
  packages: ["mariadb-server"],
  advice: [
    "The tests start a MariaDB server, and none is installed. Please install one:",
    "  macOS           brew install mariadb",
    "  other systems   the package of your system that brings mariadbd and mariadb-install-db, with both on the PATH",
  ],
};

export const pgBouncer: Program = {
  name: "PgBouncer",
  isThere: () => succeeds("pgbouncer", "--version"),
  packages: ["pgbouncer"],
  advice: [
    "The tests start a PgBouncer, and pgbouncer is not on the PATH. Please install it:",
    "  macOS           brew install pgbouncer",
    "  other systems   the package of your system that brings pgbouncer",
  ],
};

export const chromium: Program = {
  name: "Chromium",
  isThere: async () => (await findChromium()) !== undefined,
  packages: ["chromium-headless-shell"],
  advice: [
    "The tests of the site need Chromium, and neither chromium nor google-chrome is on the PATH. Please install one:",
    "  macOS           brew install google-chrome",
    "  other systems   the package of your system that brings chromium",
  ],
};

export const promtool: Program = {
  name: "promtool",
  isThere: () => succeeds("promtool", "--version"),
  packages: ["prometheus"],
  advice: [
    "The tests evaluate alert rules by Prometheus's promtool, which is not on the PATH. Please install it:",
    "  macOS           brew install prometheus",
    "  other systems   the package of your system that brings promtool",
  ],
};

export const spin: Program = {
  name: "spin",
  isThere: async () => (await succeeds("spin", "-V")) && succeeds("gcc", "--version"),
  packages: ["spin", "gcc", "libc6-dev"],
  advice: [
    "The model checker spin (6.5 or newer), or gcc, which it needs, is not on the PATH. Please install both:",
    "  macOS           brew install spin",
    "  other systems   https://spinroot.com",
  ],
};

export const faketime: Program = {
  name: "libfaketime",
  isThere: async () => (await findFaketime()) !== undefined,
  packages: ["libfaketime"],
  advice: [
    "Setting the clocks of running servers needs libfaketime. Please install it:",
    "  other systems   set HOLDFAST_FAKETIME to the path of libfaketimeMT.so.1, or choose other nemeses by --nemesis",
  ],
};

export const luacheck: Program = {
  name: "luacheck",
  isThere: () => succeeds("luacheck", "--version"),
  packages: ["lua-check"],
  advice: [
    "The Lua files are checked by luacheck, which is not on the PATH. Please install it:",
    "  macOS           brew install luacheck",
    "  other systems   luarocks install luacheck",
  ],
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
export async function ensure({ name, isThere, packages, advice }: Program): Promise<void> {
  if (await isThere()) return;
  const command = await installCommand();
  if (command) {
    console.log(`${name} is missing: installing ${packages.join(", ")} with apt-get …`);
    await run(command[0], [...command.slice(1), ...packages], scripts);
    if (await isThere()) return;
  }
  const [why, ...how] = advice;
  throw new Error([why, `  with apt-get    sudo apt-get install ${packages.join(" ")}`, ...how].join("\n"));
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

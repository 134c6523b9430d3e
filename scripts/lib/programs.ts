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
  /** Why it is needed. */
  readonly need: string;
  /** The packages of Debian that contain it. Default: one with its name. */
  readonly packages?: readonly string[];
  /** The package of Homebrew, if there is one. */
  readonly brew?: string;
  /** How to install it elsewhere. Default: the package of the system that brings it. */
  readonly elsewhere?: string;
  /** Whether it is installed. Default: whether it prints its version. */
  isThere?(): Promise<unknown>;
}

const programs = {
  "redis-server": { need: "The tests start Redis servers (7 or newer)", brew: "redis" },
  etcd: { need: "The tests start etcd servers (3.4 or newer)", packages: ["etcd-server"], brew: "etcd" },
  pgbouncer: { need: "The tests start a PgBouncer", brew: "pgbouncer" },
  promtool: { need: "The tests evaluate alert rules of Prometheus", packages: ["prometheus"], brew: "prometheus" },
  PostgreSQL: {
    need: "The tests start a PostgreSQL server",
    isThere: findPostgres,
    packages: ["postgresql"],
    brew: "postgresql",
    elsewhere: "the package of your system that brings initdb and postgres, with both on the PATH",
  },
  MariaDB: {
    need: "The tests start a MariaDB server",
    isThere: findMysql,
    packages: ["mariadb-server"],
    brew: "mariadb",
    elsewhere: "the package of your system that brings mariadbd and mariadb-install-db, with both on the PATH",
  },
  Chromium: {
    need: "The site and the packed packages are tried in chromium or google-chrome",
    isThere: findChromium,
    packages: ["chromium-headless-shell"],
    brew: "google-chrome",
  },
  spin: {
    need: "The model is checked by spin (6.5 or newer), which needs gcc",
    isThere: async () => (await succeeds("spin", "-V")) && succeeds("gcc", "--version"),
    packages: ["spin", "gcc", "libc6-dev"],
    brew: "spin",
    elsewhere: "https://spinroot.com",
  },
  libfaketime: {
    need: "The clocks of running servers are set by libfaketime",
    isThere: findFaketime,
    elsewhere: "set HOLDFAST_FAKETIME to the path of libfaketimeMT.so.1, or choose other nemeses by --nemesis",
  },
  luacheck: {
    need: "The Lua files are checked by luacheck",
    packages: ["lua-check"],
    brew: "luacheck",
    elsewhere: "luarocks install luacheck",
  },
} satisfies Readonly<Record<string, Program>>;

type ProgramName = keyof typeof programs;

const installer = fileURLToPath(new URL("./install-packages.sh", import.meta.url));

/** Installs the missing ones of these programs, or ends this process with advice. */
export async function ensureOrExit(...names: readonly ProgramName[]): Promise<void> {
  for (const name of names) {
    await ensure(name).catch((error: Error) => {
      console.error(error.message);
      process.exit(2);
    });
  }
}

/** Installs a missing program, where that needs no confirmation. Otherwise rejects with advice. */
export async function ensure(name: ProgramName): Promise<void> {
  const program: Program = programs[name];
  const { need, packages = [name], brew, isThere = () => succeeds(name, "--version") } = program;
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
  throw new Error([`${need}, and ${name} is not installed. Please install it:`, ...ways].join("\n"));
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

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { dataTemplate } from "./data-template.ts";
import { findPostgres } from "./find-postgres.ts";
import { firstValue } from "./first-value.ts";
import { signalTree } from "./process-tree.ts";
import { removeDirectory } from "./remove-directory.ts";
import { controlServer, inServerDirectory, onFreePort } from "./server-process.ts";
import { serverUser } from "./server-user.ts";

/** A real PostgreSQL server on 127.0.0.1, with its own temporary directory. */
export type PostgresServer = Awaited<ReturnType<typeof launchPostgres>>;

/** The settings of a server, by their names in `postgresql.conf`. */
export type PostgresSettings = Readonly<Record<string, string | number>>;

/** What a function that creates a data directory needs. */
interface PostgresFiles {
  /** The data directory, which does not exist yet. */
  readonly data: string;
  /** Runs a program of PostgreSQL, such as `initdb`, as the user of the server. */
  run(program: string, ...args: readonly string[]): Promise<void>;
  /** Copies another data directory to this one, as the user of the server. */
  copy(data: string): Promise<void>;
}

/** Options of {@link startPostgresServer}. */
export interface PostgresServerOptions {
  /** Whether a commit is synced to disk before the reply. Default: false, for tests that crash no machine. */
  readonly fsync?: boolean;
  /** Further settings, such as `{ max_connections: 20 }`. */
  readonly settings?: PostgresSettings;
  /** The parent of the data directory, such as the path of a small disk. Default: a temporary directory. */
  readonly folder?: string;
}

const ownSettings: PostgresSettings = { listen_addresses: "127.0.0.1", unix_socket_directories: "" };

/**
 * Starts a server on a free port, and resolves when it accepts connections.
 *
 * @param createData creates the data directory
 * @param folder the parent of the data directory; by default, a temporary one
 */
export async function launchPostgres(
  createData: (files: PostgresFiles) => Promise<void>,
  settings: PostgresSettings,
  folder?: string,
) {
  const programs = await findPostgres();
  if (programs === undefined) {
    throw new Error("there is no PostgreSQL server: install one (Debian: apt-get install postgresql)");
  }
  const user = await serverUser();
  return inServerDirectory(user, async (directory) => {
    const data = join(folder ?? directory, "data");
    const execute = async (program: string, args: readonly string[]) => {
      await promisify(execFile)(program, args, { ...user, cwd: "/" });
    };
    await createData({
      data,
      run: (program, ...args) => execute(join(programs, program), args),
      copy: (other) => execute("cp", ["-a", other, data]),
    });
    const set = Object.entries({ ...ownSettings, ...settings }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    return onFreePort(async (port) => {
      const connectionString = `postgres://holdfast@127.0.0.1:${port}/postgres`;
      const server = controlServer(
        directory,
        () => ({
          command: join(programs, "postgres"),
          args: ["-D", data, "-p", String(port), ...set],
          advice: "install it (Debian: apt-get install postgresql)",
          user,
          isAnswering: async () => (await firstValue(connectionString, "SHOW data_directory")) === data,
        }),
        // It does not wait for clients.
        { signal: (child, name) => signalTree(child.pid as number, name), stopSignal: "SIGINT" },
      );
      const { stop } = server;
      await server.restart();
      return Object.assign(server, {
        /** The address and user for clients. The user is a superuser. */
        connectionString,
        /** The port on 127.0.0.1. It stays the same after `restart()`. */
        port,
        /** Stops the server and removes its files. Safe to call more than once. */
        stop: () => stop().then(() => removeDirectory(data)),
      });
    });
  });
}

async function template({ run }: PostgresFiles): Promise<string> {
  const access = ["--username=holdfast", "--auth=trust"];
  // Small segments of the log save time and space.
  const options = [...access, "--encoding=UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"];
  return dataTemplate("postgres", await serverUser(), (data) => run("initdb", ...options, data));
}

/** Starts an empty server on a free port, and resolves when it accepts connections. */
export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const { fsync = false, settings = {}, folder } = options;
  return launchPostgres(
    async (files) => files.copy(await template(files)),
    { fsync: fsync ? "on" : "off", ...settings },
    folder,
  );
}

import { type ChildProcess, execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { findPostgres } from "./find-postgres.ts";
import { firstValue } from "./first-value.ts";
import { signalTree } from "./process-tree.ts";
import { reapedDirectory } from "./reaper.ts";
import { removeDirectory } from "./remove-directory.ts";
import { endServer, launchServer, logPathIn, onFreePort } from "./server-process.ts";
import { letIn, type ServerUser, serverUser } from "./server-user.ts";

/** A real PostgreSQL server on 127.0.0.1, with its own temporary directory. */
export type PostgresServer = ReturnType<typeof serverOf>;

/** The settings of a server, by their names in `postgresql.conf`. */
export type PostgresSettings = Readonly<Record<string, string | number>>;

/** What a function that creates a data directory needs. */
export interface PostgresFiles {
  /** The data directory, which does not exist yet. */
  readonly data: string;
  /** Runs a program of PostgreSQL, such as `initdb`, as the user of the server. */
  run(program: string, ...args: readonly string[]): Promise<void>;
  /** Copies another data directory to this one, as the user of the server. */
  copy(data: string): Promise<void>;
}

/** What {@link launchPostgres} needs to know about a server. */
interface Launch {
  readonly program: string;
  readonly directory: string;
  readonly data: string;
  readonly settings: PostgresSettings;
  readonly user: ServerUser;
}

const restartAttempts = 5;
const stopTimeoutMs = 10_000;

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
): Promise<PostgresServer> {
  const programs = await findPostgres();
  if (programs === undefined) {
    throw new Error("there is no PostgreSQL server: install one (Debian: apt-get install postgresql)");
  }
  const directory = await serverDirectory();
  try {
    const user = await serverUser();
    const data = join(folder ?? directory, "data");
    const execute = async (program: string, args: readonly string[]) => {
      await promisify(execFile)(program, args, { ...user, cwd: "/" });
    };
    await createData({
      data,
      run: (program, ...args) => execute(join(programs, program), args),
      copy: (other) => execute("cp", ["-a", other, data]),
    });
    const launch = { program: join(programs, "postgres"), directory, data, settings, user };
    return await onFreePort(async (port) => serverOf(launch, await start(launch, port), port));
  } catch (error) {
    await removeDirectory(directory);
    throw error;
  }
}

/** Creates a temporary directory for the user of the server. */
export async function serverDirectory(): Promise<string> {
  const directory = await reapedDirectory();
  await letIn(await serverUser(), directory);
  return directory;
}

function serverOf(launch: Launch, first: ChildProcess, port: number) {
  let child = first;
  const { data, directory } = launch;
  const signal = (name: NodeJS.Signals) => signalTree(child.pid as number, name);
  const kill = () => endServer(child, () => signal("SIGKILL"));
  return {
    /** The address and user for clients. The user is a superuser. */
    connectionString: connectionStringOf(port),
    /** The port on 127.0.0.1. It stays the same after `restart()`. */
    port,
    /** The id of the first process, the parent of the others. It changes with `restart()`. */
    get pid() {
      return child.pid as number;
    },
    /** Returns the log of the server since its first start. */
    log: () => readFile(logPathIn(directory), "utf8"),
    /** Suspends all processes of the server (SIGSTOP): connections stay open, and no statement is answered. */
    pause: () => signal("SIGSTOP"),
    /** Resumes all processes of the server (SIGCONT). */
    resume: () => signal("SIGCONT"),
    /** Kills all processes of the server at once (SIGKILL), as a crash does. Keeps the data. */
    kill,
    /** Kills the server if it runs, and starts it again with the same port and data. Resolves after crash recovery. */
    async restart(): Promise<void> {
      await kill();
      child = await startAgain(launch, port);
    },
    /** Stops the server and removes its files. Safe to call more than once. */
    async stop(): Promise<void> {
      const killer = setTimeout(() => void kill(), stopTimeoutMs);
      // Does not wait for clients.
      await endServer(child, () => child.kill("SIGINT"));
      clearTimeout(killer);
      await removeDirectory(data);
      await removeDirectory(directory);
    },
  };
}

function connectionStringOf(port: number): string {
  return `postgres://holdfast@127.0.0.1:${port}/postgres`;
}

/** Starts a server whose predecessor was killed. */
async function startAgain(launch: Launch, port: number): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(launch, port);
    } catch (error) {
      // The killed processes keep their shared memory and the port until the system has cleaned them up.
      const isHeld = /Address already in use|pre-existing shared memory block|lock file/.test(String(error));
      if (!isHeld || attempt === restartAttempts) throw error;
      await sleep(200);
    }
  }
}

function start({ program, directory, data, settings, user }: Launch, port: number): Promise<ChildProcess> {
  const args = ["-D", data, "-p", String(port)];
  for (const [name, value] of Object.entries({ ...ownSettings, ...settings })) args.push("-c", `${name}=${value}`);
  return launchServer({
    command: program,
    args,
    directory,
    advice: "install it (Debian: apt-get install postgresql)",
    user,
    isAnswering: async () => (await firstValue(connectionStringOf(port), "SHOW data_directory")) === data,
  });
}
